/** What the host offers a sandbox of a session whose programs are looked for by another `PATH`. */
import type { HostFacts } from '../../sandbox/host-facts.ts';
import type { MachinePort } from '../../host/port.ts';

/** Each costs a hundred `stat` calls to make again. */
const knownMax = 32;

export class SearchPathHosts {
  readonly #machine: Pick<MachinePort, 'factsFor'>;
  readonly #host: HostFacts;
  readonly #own: string;
  readonly #known = new Map<string, HostFacts>();

  /** @param own the `PATH` that `host` was looked up by */
  constructor(machine: Pick<MachinePort, 'factsFor'>, host: HostFacts, own: string) {
    this.#machine = machine;
    this.#host = host;
    this.#own = own;
  }

  /** Whether commands would find other programs by it. */
  differs(searchPath: string): boolean {
    const found = this.host(searchPath);
    const { path, toolchains } = this.#host;
    const trees = (of: HostFacts['toolchains']): string => of.map((one) => one.path).join(':');
    return found.path !== path || trees(found.toolchains) !== trees(toolchains);
  }

  host(searchPath: string | undefined): HostFacts {
    if (searchPath === undefined || searchPath === this.#own) return this.#host;
    const known = this.#known.get(searchPath) ?? this.#machine.factsFor(this.#host, searchPath);
    this.#known.delete(searchPath);
    this.#known.set(searchPath, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > knownMax && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }
}
