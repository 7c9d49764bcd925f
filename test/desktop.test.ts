// A note on the user's desktop, by the real bus: what waits, how to answer, and no secret.
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { callOf } from './support/mcp.ts';
import { eventually } from './support/processes.ts';
import { User } from './support/user.ts';

const packages = '/usr/lib/python3/dist-packages';
const wanted = [
  '/usr/bin/notify-send',
  '/usr/bin/dbus-daemon',
  `${packages}/dbus`,
  `${packages}/gi`,
];
const lacking = wanted.find((file) => !existsSync(file));
const skip = lacking === undefined ? whyNoBox : `there is no ${lacking}`;
const bounded = { skip, timeout: 120_000 };
/** A desktop that shows notes: prints each as JSON. */
const server = `
import json, dbus, dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib
DBusGMainLoop(set_as_default=True)
name = 'org.freedesktop.Notifications'
class Notes(dbus.service.Object):
    @dbus.service.method(name, in_signature='', out_signature='ssss')
    def GetServerInformation(self): return ('test', 'test', '1', '1.2')
    @dbus.service.method(name, in_signature='', out_signature='as')
    def GetCapabilities(self): return ['body', 'body-markup']
    @dbus.service.method(name, in_signature='susssasa{sv}i', out_signature='u')
    def Notify(self, app, replaces, icon, title, body, actions, hints, timeout):
        print(json.dumps([app, title, body, list(actions)]), flush=True)
        return 1
bus = dbus.SessionBus()
owned = dbus.service.BusName(name, bus)
notes = Notes(bus, '/org/freedesktop/Notifications')
print('ready', flush=True)
GLib.MainLoop().run()
`;
let user: User;
const ends: ChildProcess[] = [];
let address = '';
let heard = '';
const notes = (): string[][] =>
  heard
    .split('\n')
    .filter((line) => line.startsWith('['))
    .map((line) => JSON.parse(line));

before(async () => {
  if (skip !== false) return;
  user = new User();
  const bus = spawn('/usr/bin/dbus-daemon', ['--session', '--nofork', '--print-address']);
  ends.push(bus);
  const [said] = await once(bus.stdout, 'data');
  address = String(said).trim();
  const env = { PATH: '/usr/bin:/bin', DBUS_SESSION_BUS_ADDRESS: address };
  const desktop = spawn('/usr/bin/python3', ['-c', server], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  ends.push(desktop);
  desktop.stdout.setEncoding('utf8').on('data', (text: string) => (heard += text));
  await eventually('a desktop', () => heard.includes('ready'));
});
after(async () => {
  await user?.[Symbol.asyncDispose]();
  for (const child of ends) child.kill();
});

test('a question is said once, and how to answer it', bounded, async () => {
  const env = { ...user.env, DBUS_SESSION_BUS_ADDRESS: address };
  await using agent = await user.agent(undefined, env);
  const key = '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';
  const command = `curl -H "Authorization: ${key}" http://127.0.0.1:9/<b>x</b>`;
  for (let times = 0; times < 2; times += 1) {
    const asked = await callOf(agent, 'terminal', { command, network: true });
    assert.equal(asked.status, 'waiting', asked.text);
  }
  const [app, title, body, actions] = await eventually('the note', () => notes()[0] ?? null);
  // A button would be a way round what "trl approvals" wants to see.
  assert.deepEqual([app, title, actions], ['trl', 'A command waits for you', []]);
  assert.match(body ?? '', /^curl -H .*&lt;b&gt;x&lt;\/b&gt;\ntrl approvals watch$/);
  assert.ok(!heard.includes(key));
  await callOf(agent, 'secrets', { action: 'request', name: 'DEPLOY_TOKEN', reason: 'to deploy' });
  // What follows soon is counted.
  await eventually('the second note', () => heard.includes('1 more wait for you'));
  assert.equal(notes().length, 2);
});

test('none without a bus, or where it is not wanted', bounded, async () => {
  await user.run(['daemon', 'stop']);
  const earlier = notes().length;
  const env = { ...user.env, DBUS_SESSION_BUS_ADDRESS: address, TRL_NOTIFY: 'never' };
  await using agent = await user.agent(undefined, env);
  const command = 'curl http://127.0.0.1:9/quiet';
  const asked = await callOf(agent, 'terminal', { command, network: true });
  assert.equal(asked.status, 'waiting', asked.text);
  // A note of ours that comes later than one of the runtime would have.
  const own = { PATH: '/usr/bin:/bin', DBUS_SESSION_BUS_ADDRESS: address };
  spawnSync('/usr/bin/notify-send', ['mark'], { env: own });
  await eventually('the mark', () => notes().at(-1)?.[1] === 'mark');
  assert.equal(notes().length, earlier + 1);
});
