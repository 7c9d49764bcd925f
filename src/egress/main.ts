/**
 * The egress process: commands of sessions with rules for hosts reach the network through it and
 * in no other way. The runner starts it, and gives it sockets of the sessions' network namespaces
 * (`wire.ts`). It has no file of ours, no variable, and, where the runner is root, no user of ours.
 */
import { Socket as UdpSocket } from 'node:dgram';
import { Bridge } from './bridge.ts';
import { Termination } from './termination.ts';
import type { BridgeId, EgressEvent, EgressRequest } from './wire.ts';

/** `nobody`: an id that owns nothing. */
const nobody = 65_534;

const bridges = new Map<BridgeId, Bridge>();

function say(event: EgressEvent): void {
  process.send?.(event, undefined, undefined, () => {});
}

function bridgeOf(id: BridgeId): Bridge {
  const known = bridges.get(id);
  if (known !== undefined) return known;
  const made = new Bridge({
    name: (name) => say({ name: { bridge: id, name } }),
    open: (address, port) => say({ open: { bridge: id, address, port } }),
    ask: (exec, host, port) => say({ ask: { bridge: id, exec, host, port } }),
  });
  bridges.set(id, made);
  return made;
}

function take(request: EgressRequest, handle: unknown): void {
  if ('listen' in request) bridgeOf(request.listen.bridge).listen(Object(handle));
  else if ('resolve' in request) {
    if (handle instanceof UdpSocket) bridgeOf(request.resolve.bridge).resolveBy(handle);
  } else if ('authority' in request) {
    const { bridge, roots, ...authority } = request.authority;
    bridgeOf(bridge).terminateBy(new Termination(authority, roots));
  } else if ('named' in request) bridgeOf(request.named.bridge).restore(request.named.names);
  else if ('begin' in request) {
    const { bridge, exec, rules } = request.begin;
    void bridgeOf(bridge)
      .begin(exec, rules)
      .then(
        () => say({ begun: { exec } }),
        // One session's rules must end no other's connections.
        (error: unknown) => say({ failed: { exec, why: String(error) } }),
      );
  } else if ('end' in request) {
    const { bridge, exec } = request.end;
    say({ ended: { exec, connections: bridges.get(bridge)?.end(exec) ?? [] } });
  } else if ('answer' in request) {
    const { bridge, host, port, allow } = request.answer;
    bridgeOf(bridge).answered(host, port, allow);
  } else if ('block' in request) {
    bridgeOf(request.block.bridge).block(request.block.host);
  } else if ('list' in request) {
    const { bridge, number } = request.list;
    say({ live: { number, connections: bridges.get(bridge)?.live() ?? [] } });
  } else if ('opened' in request) {
    const { bridge, address, port } = request.opened;
    bridges.get(bridge)?.opened(address, port);
  } else {
    bridges.get(request.close.bridge)?.close();
    bridges.delete(request.close.bridge);
  }
}

if (process.getuid?.() === 0) {
  process.setgroups?.([]);
  process.setgid?.(nobody);
  process.setuid?.(nobody);
}
process.on('message', (request: EgressRequest, handle: unknown) => take(request, handle));
// With the runner everything that it bridged is gone.
process.on('disconnect', () => process.exit(0));
say({ ready: true });
