// A host of the program that is tested, and a browser that looks at it.
import { execFile, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';

const run = promisify(execFile);
const program = process.env.LOOM_BIN;
export const pictures = process.env.LOOM_PICTURES ?? '';

/** What is to be there soon is asked for until it is. */
export async function until(what, ask, within = 30_000) {
  for (const end = Date.now() + within; ; ) {
    const got = await ask();
    if (got) return got;
    if (Date.now() > end) throw new Error('not seen in time: ' + what);
    await new Promise((r) => setTimeout(r, 100));
  }
}

/** As many addresses of this machine, which nothing listens at. */
async function addresses(n) {
  const held = await Promise.all([...Array(n)].map(() => new Promise((done) => {
    const s = createServer().listen(0, '127.0.0.1', () => done(s));
  })));
  const all = held.map((s) => '127.0.0.1:' + s.address().port);
  await Promise.all(held.map((s) => new Promise((done) => s.close(done))));
  return all;
}

/** Three hosts of a cluster with one repository, and all of them at work. */
export async function cluster() {
  const one = new Host();
  await one.loom('demo', '--make-repository', 'shop');
  await one.loom('cluster', 'init', '--name', 'prod', '--key', 'config/loom/ceo.nk', '--out', 'prod.join');
  const routes = await addresses(3);
  const hosts = [one, new Host(one), new Host(one)];
  await Promise.all(hosts.map((h, i) => h.start('127.0.0.1:0', ['--join', 'prod.join', '--routes', routes.join(','), '--cluster-listen', routes[i]])));
  await one.loom('cluster', 'status', '--wait', 'whole');
  return hosts;
}

export class Host {
  /** A host in a directory of its own, or in that of another with data of its own. */
  constructor(beside) {
    this.dir = beside?.dir ?? mkdtempSync(join(tmpdir(), 'loom-browser-'));
    this.data = mkdtempSync(join(this.dir, 'data-'));
    this.env = { ...process.env, LOOM_DATA: this.data, XDG_CONFIG_HOME: join(this.dir, 'config'), HOME: this.dir };
    for (const name of ['BROWSER', 'LOOM_CREDS']) delete this.env[name];
  }

  async loom(...args) {
    return (await run(program, args, { cwd: this.dir, env: this.env })).stdout;
  }

  /** Starts it, with a model that is scripted or one that a test has. */
  async start(http = '127.0.0.1:0', more = [], model = 'scripted:demo') {
    if (!existsSync(join(this.dir, 'shop'))) await this.loom('demo', '--make-repository', 'shop');
    rmSync(join(this.data, 'http.url'), { force: true });
    this.more = more;
    this.process = spawn(program, ['up', '--project', 'shop=shop', '--model', model, '--unsandboxed', '--listen', '127.0.0.1:0', '--http', http, ...more], { cwd: this.dir, env: this.env, stdio: ['ignore', 'ignore', 'pipe'] });
    this.log = '';
    this.process.stderr.on('data', (d) => (this.log += d));
    this.ended = new Promise((r) => this.process.on('exit', r));
    await until('the host', () => existsSync(join(this.data, 'http.url')));
    this.url = readFileSync(join(this.data, 'http.url'), 'utf8').trim().replace('127.0.0.1', 'localhost');
  }

  async kill(signal = 'SIGKILL') {
    this.process.kill(signal);
    await this.ended;
  }

  async end() {
    if (this.process?.exitCode === null && this.process.signalCode === null) await this.kill('SIGINT');
  }

  async stop() {
    await this.end();
    rmSync(this.dir, { recursive: true, force: true });
  }

  async link(...args) {
    return JSON.parse(await this.loom('open', '--json', ...args)).link;
  }

  /** Files an error report as a service does, and returns its bead. */
  async report(message, more = {}) {
    this.token ??= (await this.loom('auth', 'token', 'create', '--name', 'tests', '--scope', 'read,submit')).trim();
    return this.post('reports', { project: 'shop', service: 'storefront', kind: 'AssertionError', message, ...more });
  }

  async post(path, body) {
    const reply = await fetch(`${this.url.replace('localhost', '127.0.0.1')}/api/v1/${path}`, {
      method: 'POST', headers: { Authorization: 'Bearer ' + this.token, 'Content-Type': 'application/json' }, body: JSON.stringify(body),
    });
    const got = await reply.json();
    if (!reply.ok) throw new Error(JSON.stringify(got));
    return got;
  }
}

const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** A browser with a directory of its own, which forgets nothing until it is closed. */
export async function browse(host, options = {}) {
  const profile = join(host.dir, 'profile-' + Math.random().toString(36).slice(2));
  mkdirSync(profile);
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags, chromiumSandbox: false, viewport: { width: 1280, height: 860 }, ...options,
  });
  const seen = { errors: [], outside: [], dialogs: [] };
  context.on('request', (r) => {
    if (!r.url().startsWith(host.url + '/')) seen.outside.push(r.url());
  });
  context.on('page', (page) => watch(page, seen));
  for (const page of context.pages()) watch(page, seen);
  context.setDefaultTimeout(60_000);
  return { context, page: context.pages()[0] ?? (await context.newPage()), seen };
}

function watch(page, seen) {
  page.on('pageerror', (e) => seen.errors.push('error: ' + e.message));
  page.on('console', (m) => {
    if (m.type() === 'error' && !/net::ERR_|Failed to load resource/.test(m.text())) seen.errors.push('console: ' + m.text());
  });
  page.on('dialog', (d) => {
    seen.dialogs.push(d.message());
    d.dismiss();
  });
}

/** A picture of the page, where pictures are kept. */
export async function picture(page, name) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, name + '.png'), fullPage: true });
}
