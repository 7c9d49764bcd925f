import { createServer } from 'node:http';

/** Says something ten times a second, to each that asks. */
export class TalkingServer {
  /** Connections that are open now, those that there ever were, and what was said to them. */
  readonly count = { open: 0, begun: 0, said: 0 };
  readonly server = createServer((_, response) => {
    this.count.open += 1;
    this.count.begun += 1;
    const timer = setInterval(() => {
      response.write('word\n');
      this.count.said += 1;
    }, 100);
    response.on('close', () => {
      clearInterval(timer);
      this.count.open -= 1;
    });
  });

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return Number(Object(this.server.address())['port']);
  }
}
