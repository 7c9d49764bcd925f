/** Whether a path is a directory or lies below it. Both absolute, without links. Pure. */
export const isPathInside = (file: string, directory: string): boolean =>
  file === directory || file.startsWith(directory === '/' ? '/' : `${directory}/`);
