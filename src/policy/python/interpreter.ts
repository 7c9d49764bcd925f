/** The name that the interpreter of a script is looked up by, and started by. */
export const pythonInterpreterName = 'python3';
