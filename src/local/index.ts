/** A runtime on this machine: the socket of this user's, or one of the program's own. */
export { connectLocal, connectLocal as connect, connectPrivate, startHere } from './connect.ts';
export type { LocalOptions } from './connect.ts';
export { daemonCommand, daemonEnvironment, spawnDaemon } from './spawn.ts';
export type { EphemeralOptions } from './spawn.ts';
export { defaultSocketPath, dialSocket } from './socket.ts';
export { checkTarget, takePublication } from './publication.ts';
export {
  answers,
  endOnDemand,
  killMs,
  logFile,
  pollMs,
  processNow,
  runningDaemon,
  startProcess,
  stateDir,
  stopProcess,
  tailOf,
} from './background-daemon.ts';
export type { DaemonRecord } from './background-daemon.ts';
