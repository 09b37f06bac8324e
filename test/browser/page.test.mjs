// A person with a browser, and people who mean no good.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { digest, sha256 } from '../../internal/page/src/digest.js';
import { untried } from '../../internal/page/src/states.js';
import { Host, cluster, browse, picture, until } from './host.mjs';

const run = promisify(execFile);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const fault = 'The total is wrong for orders of exactly 50.00';

test('the page computes the digests that the host computes', async () => {
  const { proposals } = JSON.parse(readFileSync(process.env.LOOM_PROPOSALS, 'utf8'));
  assert.ok(proposals.length >= 100);
  for (const p of proposals) assert.equal(await digest(p), p.digest);
});

/** No finding of axe on what is shown, and no horizontal bar. */
async function sound(page, name) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    // By the protocol and not by an element: the page's policy is the one that is tested.
    await page.evaluate(axe);
    const found = await page.evaluate(() => globalThis.axe.run({ resultTypes: ['violations'] }));
    assert.deepEqual(found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target + ' ' + n.failureSummary).join(', ')}`), [], `${name}, ${colorScheme}`);
    await picture(page, `${name}-${colorScheme}`);
  }
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${name} is ${wide} pixels too wide`);
}

/** What the host answers in full, whatever the page has already. */
const asked = (route) => route.fetch({ headers: { ...route.request().headers(), 'sec-fetch-site': 'same-origin', 'if-none-match': '' } });

/** A browser whose person has a finger at hand. */
async function authenticator(page) {
  await page.bringToFront(); // whoever has no focus is not asked
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', { options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true } });
}

/** Who signed is in the record, and holds without the host. */
async function recorded(host, key) {
  await host.kill('SIGINT');
  const record = await host.loom('audit', 'verify');
  assert.match(record, new RegExp(`approval-decided by ceo ${key}\n(?: .*\n)*? +signature: valid\n`));
  assert.match(record, /every chain holds, and every signature is valid/);
}

/** Work is held by the browser's key, and goes on; and something is said to who does it. */
async function steers(page, host) {
  await page.evaluate(() => (location.hash = '#/beads/shop-1'));
  await page.getByText('Steer', { exact: true }).click();
  await page.getByRole('button', { name: 'Pause, signed' }).click();
  await page.getByText('Say why: it stands in the record.').waitFor();
  await page.getByLabel('Reason').fill('wait for the others');
  await page.getByRole('button', { name: 'Pause, signed' }).click();
  await page.getByRole('button', { name: 'Go on, signed' }).waitFor();
  assert.match(await host.loom('pause', '--list'), /shop-1-x1.*\n?.*wait for the others/);
  await page.getByLabel('Reason').fill('they are here');
  await page.getByRole('button', { name: 'Go on, signed' }).click();
  await page.getByRole('button', { name: 'Pause, signed' }).waitFor();
  await page.getByLabel('Say to who works on it').fill('Mind the threshold.');
  await page.getByRole('button', { name: 'Say it' }).click();
  await page.getByText('not heard yet').waitFor();
  await page.evaluate(() => scrollTo(0, 0));
  await sound(page, 'steer-390');
  await page.evaluate(() => (location.hash = '#/inbox/shop-2'));
  await page.getByRole('button', { name: 'Approve and sign' }).waitFor();
}

/** What landed is looked at: its lines and why they are there, the history, the files. */
async function looksAtFiles(page, name) {
  await page.getByRole('link', { name: 'What landed' }).click();
  await page.getByRole('heading', { name: 'Files of shop' }).waitFor();
  await page.locator('.diff [data-line]', { hasText: '>=' }).first().waitFor();
  await page.evaluate(() => scrollTo(0, 0));
  await sound(page, `changes-${name}`);
  await page.getByRole('link', { name: 'Files', exact: true }).last().click();
  await page.getByRole('link', { name: 'cart/', exact: true }).click();
  await page.getByRole('link', { name: 'cart.go', exact: true }).click();
  await page.getByRole('button', { name: 'Where each line comes from' }).click();
  await page.locator('.o a').nth(1).waitFor();
  await page.getByRole('button', { name: 'Why line 28 is there' }).press('Enter');
  await page.getByRole('link', { name: 'shop-1', exact: true }).waitFor();
  await page.getByText('decision', { exact: true }).first().waitFor();
  await sound(page, `file-${name}`);
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.getByText('It did not come with Loom').waitFor();
  await page.getByRole('link', { name: 'History' }).click();
  await page.locator('.commit').nth(1).waitFor();
  await sound(page, `history-${name}`);
  await page.locator('.commit a').last().click(); // the files as of the first commit
  await page.getByRole('button', { name: 'Where each line comes from' }).waitFor();
  await page.getByLabel('at', { exact: true }).fill('nothing');
  await page.keyboard.press('Enter');
  await page.getByText('there is no such branch or commit').waitFor();
  await page.getByLabel('at', { exact: true }).fill('');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Where each line comes from' }).waitFor();
}

/** The comment at a line that was begun becomes a request for changes, and the next
 * proposal is looked at. */
async function asksForChanges(page, host) {
  await page.getByLabel('Comment at cart/cart.go:28', { exact: true }).last().press('End');
  await page.keyboard.type(' so.');
  await page.keyboard.press('Control+Enter');
  await page.locator('[data-remark]', { hasText: 'Say why it is so.' }).waitFor();
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByText('There are comments at lines').waitFor();
  await page.getByRole('button', { name: 'Side by side' }).click();
  await page.locator('.two [data-line]').first().waitFor();
  await sound(page, 'approval-beside');
  await page.getByRole('button', { name: 'Request changes and sign' }).click();
  await page.getByText('Signed: it goes back with your comment.').waitFor();
  const [answered] = JSON.parse(await host.loom('bead', 'show', 'shop-2', '--json')).beads;
  assert.equal(answered.reason, 'good\n\ncart/cart.go:28\n> if total >= FreeShippingFrom {\nSay why it is so.');
  await page.getByText('shop-3').first().waitFor();
  await page.locator('#page-main').focus();
  await page.keyboard.press('j');
  await page.getByRole('button', { name: 'Approve and sign' }).waitFor();
  assert.equal(await page.evaluate(() => location.hash), '#/inbox/shop-3');
}

for (const size of [{ width: 1280, height: 860 }, { width: 390, height: 844 }]) {
  test(`an error report lands, by the page alone, ${size.width} pixels wide`, async () => {
    const host = new Host();
    const phone = size.width < 500;
    let context;
    try {
      await host.start();
      const b = await browse(host, { viewport: size });
      context = b.context;
      const { page, seen } = b;
      await page.goto(host.url + '/');
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      await sound(page, `door-${size.width}`);

      await page.goto(await host.link());
      assert.equal(page.url(), host.url + '/');
      assert.equal(await page.evaluate(() => document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)), '{}{}');
      await page.getByText('Nothing. What needs your word').waitFor();
      await host.report(fault);
      await page.locator('nav .count').waitFor();
      await page.getByRole('link', { name: new RegExp(fault) }).waitFor();
      await sound(page, `now-${size.width}`);

      await page.getByRole('link', { name: /^Inbox/ }).click();
      if (phone) await page.getByRole('link', { name: new RegExp(fault) }).click();
      await page.getByRole('button', { name: 'Make a key in this browser' }).click();
      const command = await page.locator('pre.command').textContent();
      assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);

      // The host dies, and the page says so; what the person writes stays, also comments
      // at lines, of which one is not finished.
      await page.getByLabel('Comment', { exact: true }).fill('good');
      if (!phone) {
        await page.locator('.diff .scroll').focus();
        for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Enter');
        await page.keyboard.type('Say why it is');
      }
      const port = new URL(host.url).port;
      await host.kill();
      await page.getByText('The host does not answer just now').waitFor();
      await host.start('127.0.0.1:' + port);
      await page.getByText('The host does not answer just now').waitFor({ state: 'hidden' });
      await run('sh', ['-c', command.replace(/^loom /, '"$LOOM_BIN" ')], { cwd: host.dir, env: host.env });
      await page.getByRole('button', { name: 'Approve and sign' }).waitFor();
      assert.equal(await page.getByLabel('Comment', { exact: true }).inputValue(), 'good');
      await page.reload();
      await page.getByRole('button', { name: 'Approve and sign' }).waitFor();
      assert.equal(await page.getByLabel('Comment', { exact: true }).inputValue(), 'good');
      let key = /key add (\S+)/.exec(command)[1];
      if (phone) {
        await steers(page, host);
        await authenticator(page);
        await page.getByRole('button', { name: 'Add a passkey' }).click(); // which the browser's key enrols
        await page.getByText('Signed with the passkey').waitFor();
        key = await page.getByLabel('Sign with').inputValue();
        assert.match(await host.loom('key', 'list'), new RegExp(`${key}.*passkey of http://localhost`));
      } else await asksForChanges(page, host);
      await page.evaluate(() => scrollTo(0, 0));
      await sound(page, `approval-${size.width}`);
      await assert.rejects(page.evaluate(async () => {
        const open = indexedDB.open('loom', 1);
        await new Promise((done) => (open.onsuccess = done));
        const got = open.result.transaction('keys').objectStore('keys').get('ceo');
        await new Promise((done) => (got.onsuccess = done));
        return crypto.subtle.exportKey('pkcs8', got.result.private);
      }), /InvalidAccess|not extractable/i);

      if (phone) {
        await page.getByRole('button', { name: 'Approve and sign' }).click();
      } else { // by the keyboard alone
        await page.locator('#page-main').focus();
        await page.keyboard.press('a');
        await page.keyboard.press('Enter');
      }
      await page.getByText('Signed: it goes on.').waitFor();
      await page.getByRole('link', { name: 'See how it goes on' }).click();
      await page.getByText(/✓ landed [0-9a-f]{10}/).first().waitFor({ timeout: 90_000 });
      await page.locator('li.good', { hasText: 'verify' }).getByText('exit code 0').waitFor();
      await page.getByText('output', { exact: true }).first().click();
      await page.locator('summary', { hasText: 'the agent’s words' }).first().click();
      await page.getByText('I run the tests to see').waitFor();
      await page.getByLabel('Search in the agent’s words').fill('TestFreeShipping');
      await page.getByRole('status').filter({ hasText: /^[1-9] of [0-9]+$/ }).waitFor();
      await page.evaluate(() => scrollTo(0, 0));
      await sound(page, `work-${size.width}`);
      await page.getByRole('link', { name: 'Timeline' }).click();
      await page.getByRole('link', { name: /^investigate, attempt 2, backend-engineer.*, success$/ }).waitFor();
      await sound(page, `time-${size.width}`);
      await page.getByRole('link', { name: 'Money and time' }).click();
      await page.getByText('what took the most').click();
      await page.getByRole('button', { name: /^triage: / }).press('Enter');
      assert.ok(await page.getByRole('button', { name: /^answer [1-9] of scripted:demo: |^shell: / }).count() > 0);
      await sound(page, `spent-${size.width}`);
      await page.getByRole('link', { name: 'Graph' }).click();
      await page.getByRole('link', { name: /^verify: checks passed, / }).press('Enter');
      assert.equal(await page.evaluate(() => document.activeElement.dataset.step), 'verify');
      await looksAtFiles(page, size.width);
      if (phone) {
        await page.setViewportSize({ width: 360, height: 740 });
        for (const view of ['#/', '#/beads', '#/inbox', '#/inbox/shop-2', '#/files', '#/files/shop?path=cart/cart.go', '#/files/shop?show=history', '#/files/shop?show=changes']) {
          await page.evaluate((v) => (location.hash = v), view);
          await page.waitForTimeout(300);
          await sound(page, 'narrow-' + view.replace(/\W+/g, ''));
        }
      }
      assert.deepEqual(seen, { errors: [], outside: [], dialogs: [] });

      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByText('You have signed out').waitFor();
      assert.match(await host.loom('auth', 'session', 'list'), /nobody is signed in/);
      await recorded(host, key);
    } finally {
      await context?.close();
      await host.stop();
    }
  });
}

// What a model writes is seen while it writes it, without what would run.
test('an agent’s words are seen as they come', async () => {
  const host = new Host();
  let context;
  const asked = [];
  const server = createServer((request, reply) => {
    request.resume();
    reply.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const event = (type, more) => reply.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
    event('message_start', { message: { id: 'm', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [], usage: { input_tokens: 1, output_tokens: 1 } } });
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
    asked.push({
      say: (text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
      end: () => {
        event('content_block_stop', { index: 0 });
        event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } });
        event('message_stop', {});
        reply.end();
      },
    });
  });
  try {
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    Object.assign(host.env, { ANTHROPIC_API_KEY: 'none', ANTHROPIC_BASE_URL: 'http://127.0.0.1:' + server.address().port });
    await host.start('127.0.0.1:0', [], 'anthropic:claude-sonnet-4-5');
    const b = await browse(host);
    context = b.context;
    const { page } = b;
    await page.goto(await host.link());
    await host.report(fault);
    const answer = await until('a request to the model', () => asked[0]);
    await page.evaluate(() => (location.hash = '#/beads/shop-1'));
    await page.locator('summary', { hasText: 'the agent’s words' }).first().click();
    const seen = page.locator('[data-writing]');
    await until('the first words', async () => {
      answer.say('I look. ');
      return (await seen.count()) > 0;
    });
    answer.say('<img src=x onerror=alert(1)> at the cart.');
    await seen.filter({ hasText: 'onerror=alert(1)> at the cart.' }).waitFor();
    await sound(page, 'writes');
    answer.end();
    await page.locator('.said:not([data-writing])', { hasText: 'at the cart.' }).waitFor();
    await until('what was written is said', async () => !(await seen.filter({ hasText: 'at the cart.' }).count()));
    assert.deepEqual(b.seen, { errors: [], outside: [], dialogs: [] });
  } finally {
    await context?.close();
    server.closeAllConnections();
    server.close();
    await host.stop();
  }
});

// The page of one host, which dies, goes on at another, and is itself again when its host is.
test('of three hosts, the one with the page dies', async () => {
  const [one, two, three] = await cluster();
  let context;
  try {
    const b = await browse(two);
    context = b.context;
    const { page } = b;
    await page.goto(await two.link());
    await one.report(fault);
    await page.getByRole('link', { name: new RegExp(fault) }).waitFor();
    await two.kill();
    await page.getByText('reconnecting').waitFor();

    const other = await context.newPage();
    await other.goto(await three.link());
    await other.getByRole('link', { name: /^Inbox/ }).click();
    await other.getByRole('button', { name: 'Make a key in this browser' }).click();
    const command = await other.locator('pre.command').textContent();
    await run('sh', ['-c', command.replace(/^loom /, '"$LOOM_BIN" ')], { cwd: three.dir, env: three.env });
    await other.getByRole('button', { name: 'Approve and sign' }).click();
    await other.getByText('Signed: it goes on.').waitFor();
    await other.getByRole('link', { name: 'See how it goes on' }).click();
    await other.getByText(/✓ landed [0-9a-f]{10}/).first().waitFor({ timeout: 90_000 });

    await two.start('127.0.0.1:' + new URL(two.url).port, two.more);
    await page.bringToFront();
    await page.getByText('reconnecting').waitFor({ state: 'hidden' });
    await page.getByText('1 completed').waitFor();
    await page.evaluate(() => (location.hash = '#/beads/shop-1'));
    await page.getByText(/✓ landed [0-9a-f]{10}/).first().waitFor();
    assert.deepEqual(b.seen.errors, []);
  } finally {
    await context?.close();
    await Promise.all([three, two].map((h) => h.end()));
    await one.stop();
  }
});

describe('people who mean no good', () => {
  const host = new Host();
  let context, page, seen, command;

  before(async () => {
    await host.start();
    ({ context, page, seen } = await browse(host));
    await page.goto(await host.link());
    await host.report(fault);
    await page.locator('nav .count').waitFor();
    await page.evaluate(() => (location.hash = '#/inbox/shop-2'));
    await page.getByRole('button', { name: 'Make a key in this browser' }).click();
    command = await page.locator('pre.command').textContent();
    await run('sh', ['-c', command.replace(/^loom /, '"$LOOM_BIN" ')], { cwd: host.dir, env: host.env });
    await page.getByRole('button', { name: 'Approve and sign' }).waitFor();
  });
  after(async () => {
    await context?.close();
    await host.stop();
  });

  const stays = async () => assert.match(await host.loom('inbox'), /shop-2/);

  /** Puts other words into what the host says of the approval. */
  async function between(change, ask) {
    const pattern = /\/api\/v1\/inbox\/shop-2/;
    await page.route(pattern, async (route) => {
      if (page.isClosed()) return;
      const reply = await asked(route);
      const v = await reply.json();
      change(v, v.approvals[0]);
      await route.fulfill({ response: reply, json: v }).catch(() => {}); // nobody waits for it any more
    });
    try {
      await page.evaluate(() => (location.hash = '#/inbox/shop-2'));
      await page.reload();
      await ask();
    } finally {
      await page.unroute(pattern);
    }
  }

  test('what differs from the signed by one byte is not signed', async () => {
    for (const change of [
      (v) => (v.diff = v.diff.replace('>=', '>>')),
      (v) => (v.diff += '\n'),
      (v) => delete v.diff,
      (v, a) => (a.intent += ' '),
      (v, a) => (a.work[0].outcome.summary += '.'),
      (v, a) => (a.work[0].outcome.fields.severity = 'low'),
      (v, a) => (a.usage.cost_micro_usd = '1'),
      (v, a) => (a.change.diff.sha256 = a.change.diff.sha256.replace(/^./, (c) => (c === '0' ? '1' : '0'))),
      (v, a) => (a.a_field_of_tomorrow = 'x'),
    ]) {
      await between(change, async () => {
        await page.getByText('Do not sign this.').waitFor();
        assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);
      });
    }
    // What is changed on the page itself, after it was checked, is not signed either.
    await page.reload();
    await page.getByRole('button', { name: 'Approve and sign' }).waitFor();
    await page.evaluate(() => (document.querySelector('.add [data-line]').append(' ')));
    await page.getByRole('button', { name: 'Approve and sign' }).click();
    await page.getByText('Do not sign this.').waitFor();
    await stays();
  });

  test('texts of others run nothing', async () => {
    const payloads = readFileSync(new URL('payloads.txt', import.meta.url), 'utf8').split('\n').filter(Boolean);
    assert.ok(payloads.length > 40);
    const all = payloads.join('\n');
    await host.report(all.slice(0, 6000));
    for (const p of payloads.slice(0, 12)) await host.report(p);
    const lines = payloads.map((p) => '+' + p).join('\n');
    await between((v, a) => {
      a.question = a.reason = a.intent = all;
      a.work[0].outcome.summary = a.work[0].outcome.notes = all;
      a.change.files = payloads.map((p) => ({ path: p, status: p }));
      a.change.warnings = payloads.map((p) => ({ kind: p, path: p, text: p }));
      a.considered = payloads.map((p, i) => ({ id: 'd' + i, title: p, why: p }));
      v.diff = `diff --git a/${payloads[0]} b/${payloads[0]}\n--- a/x\n+++ b/x\n@@ -0,0 +1,${payloads.length} @@\n${lines}\n`;
    }, async () => {
      await page.getByText('Do not sign this.').waitFor();
      await page.getByText('All that is signed').click();
      await picture(page, 'hostile-approval');
    });
    await page.route(/transcript/, (route) => route.fulfill({ json: { entries: payloads.map((p) => ({ kind: 'TRANSCRIPT_KIND_SAID', text: p, tool: p, summary: p, time: '2026-01-02T12:00:00Z' })), end: true } }));
    await page.route(/executions\/shop-1-x1\?/, async (route) => {
      const reply = await asked(route);
      const v = await reply.json(), [x] = v.executions;
      const attempt = { id: 'a', node: payloads[0], role: payloads[1], claimant: { agent: payloads[2] }, number: 1, dispatched_at: x.started_at, parked: payloads[3], outcome: { status: payloads[4], summary: payloads[5] } };
      v.definition.nodes = payloads.map((p) => ({ id: p, role: p, type: p }));
      v.definition.edges = payloads.slice(1).map((p, i) => ({ id: p, from: payloads[i], to: p, outcome: p }));
      x.nodes = Object.fromEntries(payloads.map((p) => [p, { status: 'NODE_STATUS_RUNNING', attempt }]));
      x.said = payloads.map((p) => ({ text: p, from: { name: p } }));
      await route.fulfill({ response: reply, json: v }).catch(() => {});
    });
    const commit = (p) => ({ commit: p, author: p, subject: p, time: '2026-01-02T12:00:00Z' });
    const hostile = {
      files: { commit: payloads[0], entries: payloads.map((p) => ({ name: p, size: '1', kind: 'FILE_KIND_FILE' })) },
      blame: { spans: payloads.map((_, i) => ({ from: i + 1, lines: 1, commit: i })), commits: payloads.map(commit) },
      commits: { commits: payloads.map(commit), next: payloads[0] },
      compare: { from: payloads[0], to: payloads[1], cut: true, files: payloads.map((p) => ({ path: p })), diff: `diff --git a/${payloads[0]} b/${payloads[0]}\n@@ -0,0 +1,${payloads.length} @@\n${lines}\n` },
      why: { ...commit(payloads[0]), loom: true, bead: { id: payloads[1], goal: payloads[2] }, execution: { id: payloads[3] }, approval: { id: payloads[4] }, decisions: [{ decision: { id: payloads[5], title: payloads[5] }, rejected: [{ option: { id: payloads[6], title: payloads[6] }, rationale: payloads[7] }] }] },
    };
    await page.route(/\/api\/v1\/(files|blame|commits|compare|why)\?/, (route) => route.fulfill({ json: hostile[/v1\/(\w+)/.exec(route.request().url())[1]] }));
    await page.route(/\/api\/v1\/file\?/, (route) => route.fulfill({ contentType: 'text/plain; charset=utf-8', body: all }));
    const q = (o) => '#/files/shop?' + new URLSearchParams(o);
    for (const view of [q({}), q({ path: payloads[8] + '/' }), q({ path: payloads[9], line: 3 }), q({ rev: payloads[10], show: 'history' }), q({ from: payloads[11], show: 'changes' }), '#/files/' + encodeURIComponent(payloads[12]), '#/', '#/beads', '#/inbox', '#/beads/shop-1-x1', '#/beads/shop-1-x1?show=time', '#/beads/shop-1-x1?show=spent', '#/inbox/' + encodeURIComponent(payloads[0]), '#/beads/' + encodeURIComponent(payloads[1]) + '-x1']) {
      await page.evaluate((v) => (location.hash = v), view);
      await page.waitForTimeout(400);
      for (const words of (await page.locator('summary', { hasText: 'the agent’s words' }).all()).slice(0, 2)) await words.click();
      for (const blame of await page.getByRole('button', { name: 'Where each line comes from' }).all()) await blame.click();
      await page.waitForTimeout(200);
      assert.equal(await page.evaluate(() => document.querySelectorAll('main script, main img, main iframe, main object, main svg:not(.drawing), main style, main [onerror], main [onload]').length), 0, view);
      assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('a')].map((a) => a.protocol).filter((p) => !/^https?:$/.test(p))), [], view);
    }
    await page.unroute(/\/api\/v1\/(files|blame|commits|compare|why)\?/);
    await page.unroute(/\/api\/v1\/file\?/);
    await page.unroute(/transcript/);
    await page.unroute(/executions\/shop-1-x1\?/);
    assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
    assert.deepEqual(seen.dialogs, []);
    assert.deepEqual(seen.outside, []);
    assert.deepEqual(seen.errors, []);
  });

  test('characters that hide others are shown', async () => {
    const hidden = ['\u202e', '\u200b', '\u{e0041}', '\u{e0100}', '\uffa0', '\u034f', '\u17b4', '\u2800', '\u3164', '\r'];
    const codes = hidden.map((c) => 'U+' + c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0'));
    const text = hidden.join('a') + '\té ü';
    const marked = (at) => page.locator(at + ' .odd').evaluateAll((all) => all.map((n) => n.dataset.code));
    await between((v, a) => {
      v.diff = v.diff.replace('>=', text);
      a.permission = { role: 'coder', tool: 'shell', arguments: `{\n${text}\n}` };
    }, async () => {
      await page.getByText('Do not sign this.').waitFor();
      assert.deepEqual(await marked('.diff'), codes);
      assert.deepEqual(await marked('.arguments'), codes);
      assert.deepEqual(await marked('details.card'), codes);
      assert.equal(await page.locator('.arguments').textContent(), `{\n${text}\n}`);
    });
  });

  test('a page of another origin cannot ask or sign', async () => {
    const evil = createServer((_, reply) => reply.setHeader('Content-Type', 'text/html').end('<!doctype html><title>evil</title>'));
    await new Promise((r) => evil.listen(0, '127.0.0.1', r));
    const other = await context.newPage();
    try {
      for (const name of ['localhost', '127.0.0.1']) { // another port of the same site, and another site
        await other.goto(`http://${name}:${evil.address().port}/`);
        const got = await other.evaluate(async (url) => {
          const said = [];
          const body = JSON.stringify({ payload: '', public_key: '', signature: '' });
          for (const [path, options] of [
            ['beads', {}], ['commands', { method: 'POST', body, headers: { 'Content-Type': 'application/json' } }],
            ['commands', { method: 'POST', body, mode: 'no-cors' }], ['answers', { method: 'POST', body, mode: 'no-cors' }], ['beads', { mode: 'no-cors' }],
          ]) {
            said.push(await fetch(url + '/api/v1/' + path, { credentials: 'include', ...options }).then((r) => r.type + ' ' + r.status, (e) => 'refused ' + e.name));
          }
          const frame = document.createElement('iframe');
          frame.src = url + '/';
          document.body.append(frame);
          await new Promise((r) => (frame.onload = r));
          try { said.push('frame ' + frame.contentDocument?.title); } catch { said.push('frame refused'); }
          const opened = window.open(url + '/');
          await new Promise((r) => setTimeout(r, 500));
          try { said.push('window ' + opened?.document?.title); } catch { said.push('window refused'); }
          return said;
        }, host.url);
        for (const one of got) assert.ok(!/^(basic|cors|default) 200/.test(one) && !/Loom/.test(one), got.join('; '));
      }
      await stays();
    } finally {
      await other.close();
      evil.close();
    }
  });

  test('a session without a key signs nothing', async () => {
    await page.goto(host.url + '/');
    const got = await page.evaluate(async () => {
      const post = (path, body) => fetch('/api/v1/' + path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }).then((r) => r.json());
      const approval = (await fetch('/api/v1/inbox/shop-2?project=shop').then((r) => r.json())).approvals[0];
      const answer = { approval: 'shop-2', digest: approval.digest, decision: 'APPROVAL_DECISION_APPROVE' };
      return [
        await post('answers', answer),
        await post('commands', { payload: btoa('made up'), public_key: 'UAKG3OBQSUOVNMUDS4SU2JCFMQA7R5SBZLK3NJPFDRUACDO57KE3FR3B', signature: btoa('x'.repeat(64)) }),
      ];
    });
    for (const one of got) assert.match(one.code ?? '', /signature|malformed|unauthorized|command/, JSON.stringify(one));
    await stays();
  });

  test('a key that was revoked signs nothing, and the other still does', async () => {
    const key = /key add (\S+)/.exec(command)[1];
    await host.loom('key', 'revoke', key, '--reason', 'lost');
    await page.evaluate(() => (location.hash = '#/inbox/shop-2'));
    await page.reload();
    await page.getByText('it does not sign for you yet').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);
    await authenticator(page);
    await page.getByRole('button', { name: 'Make a passkey' }).click();
    await page.getByText('There is a passkey').waitFor();
    await page.reload(); // which forgets nothing
    const enrols = await page.locator('pre.command', { hasText: '--passkey' }).textContent();
    await run('sh', ['-c', enrols.replace('| loom ', '| "$LOOM_BIN" ')], { cwd: host.dir, env: host.env });
    await page.getByRole('button', { name: 'Approve and sign' }).waitFor();
    await sound(page, 'passkey');
    await page.getByRole('button', { name: 'Approve and sign' }).click();
    await page.getByText('Signed: it goes on.').waitFor();
    await recorded(host, /key add (\S+)/.exec(enrols)[1]);
  });
});

describe('what there is, is what is shown', () => {
  const host = new Host();
  let context, page, seen;

  before(async () => {
    await host.start();
    ({ context, page, seen } = await browse(host));
    await page.goto(await host.link());
    await page.getByText('Nothing. What needs your word').waitFor();
  });
  after(async () => {
    await context?.close();
    await host.stop();
  });

  const go = (view) => page.evaluate((v) => (location.hash = v), view);

  /** The page with a host that answers some questions as it is told, until it is done. */
  async function told(answers, act) {
    const pattern = /\/api\/v1\//;
    await page.route(pattern, async (route) => {
      const url = new URL(route.request().url());
      const answer = answers[url.pathname.replace('/api/v1/', '')];
      if (!answer) return route.fallback();
      await answer(url.searchParams, route).then((json) => json && route.fulfill({ json })).catch(() => {});
    });
    try {
      await go('#/keys-of-nothing');
      await page.reload();
      await act();
    } finally {
      await page.unroute(pattern);
    }
  }

  test('of several projects, what runs, waits and cannot go on', async () => {
    const execution = (id, more) => ({ id, bead: id.replace(/-x1$/, ''), project: id[0], definition: 'fix', status: 'EXECUTION_STATUS_RUNNING', started_at: '2026-01-02T12:00:00Z', ...more });
    const ended = (n) => execution(`a-${n}-x1`, { status: 'EXECUTION_STATUS_COMPLETED', ended_at: '2026-01-02T12:00:01Z' });
    const approval = (id, at) => ({ id, kind: 'APPROVAL_KIND_APPROVAL', intent: 'land ' + id, asked_at: at });
    const block = (message) => ({ model: 'big', code: 'model/no-credit', message });
    const failed = { status: 'EXECUTION_STATUS_FAILED', reason: 'gave up', bead: 'b-7', ended_at: '2026-01-02T12:00:01Z' };
    await told({
      projects: async () => ({ projects: [{ id: 'a' }, { id: 'b' }] }),
      executions: async (q) => {
        const all = [...Array(200).keys()].map((n) => ended(900 - n));
        if (q.get('filter') !== 'running') return q.get('project') === 'b' ? { executions: [execution('b-7-x1', failed), execution('b-7-x2', failed)] } : { executions: all.slice(0, Number(q.get('limit'))) };
        return q.get('after') ? { executions: [execution('b-1-x1')] } : { executions: [execution('a-2-x1', { parent: 'a-1-x1' })], next: 'a-2-x1' };
      },
      inbox: async (q) => {
        if (q.get('project') === 'b') return { waiting: 1, approvals: [approval('b-3', '2026-01-01T12:00:00Z')], blocks: [block('b has no credit')] };
        const all = [1, 2, 3, 4, 5, 6].map((n) => approval('a-' + n, `2026-01-02T12:00:0${n}Z`));
        return { waiting: q.get('project') ? 6 : 7, approvals: all.slice(0, Number(q.get('limit'))), blocks: q.get('project') ? [block('a has no credit')] : [] };
      },
    }, async () => {
      const runs = page.getByRole('region', { name: 'Runs' }), wrong = page.getByRole('region', { name: 'Went wrong' });
      await runs.locator('a[href="#/beads/b-1-x1"]').waitFor();
      assert.equal(await runs.locator('a[href="#/beads/a-2-x1"]').count(), 0);
      assert.equal(await page.getByText('No work is under way').count(), 0);
      assert.equal(await wrong.getByText('model big cannot be asked').count(), 1);
      assert.equal(await wrong.getByText('b-7 failed').count(), 2);
      const waits = page.getByRole('region', { name: 'Waits for you' });
      assert.deepEqual(await waits.locator('.what').allTextContents(), ['land b-3', 'land a-1', 'land a-2', 'land a-3', 'land a-4']);
      assert.equal(await waits.locator('.tag').textContent(), '7');
    });
    assert.deepEqual(seen.errors, []);
  });

  test('work that is listed on further pages', async () => {
    const bead = (n) => ({ id: 'a-' + n, type: 'BEAD_TYPE_TASK', status: 'BEAD_STATUS_OPEN', goal: 'goal ' + n, updated_at: '2026-01-02T12:00:00Z' });
    const page100 = (from) => [...Array(100).keys()].map((n) => bead(from - n));
    await told({ beads: async (q) => (q.get('after') ? { beads: page100(100) } : { beads: page100(200), next: 'a-101' }) }, async () => {
      await go('#/beads');
      await page.getByText('goal 101', { exact: true }).waitFor();
      assert.equal(await page.getByText('goal 100', { exact: true }).count(), 0);
      await page.getByRole('button', { name: 'Show more' }).click();
      await page.getByText('goal 1', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Show more' }).waitFor({ state: 'hidden' });
    });
  });

  test('work is filed, found by its label and changed', async () => {
    await go('#/beads');
    await page.getByRole('button', { name: 'New work' }).click();
    await page.getByLabel('Goal').fill('Rename the cart');
    await page.getByLabel('Labels').fill('names shop-front');
    await page.reload(); // what was written stays
    await page.getByRole('button', { name: 'New work' }).click();
    assert.equal(await page.getByLabel('Goal').inputValue(), 'Rename the cart');
    await page.getByLabel('Priority').selectOption('low');
    await sound(page, 'file');
    await page.getByRole('button', { name: 'File it' }).click();
    await page.getByRole('heading', { name: 'Rename the cart' }).waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Labels').fill('names');
    await page.getByRole('button', { name: 'Change it' }).click();
    await page.getByRole('link', { name: 'shop-front' }).waitFor({ state: 'detached' });
    const [bead] = JSON.parse(await host.loom('bead', 'list', '--label', 'names', '--json')).beads;
    assert.deepEqual([bead.goal, bead.priority, bead.labels], ['Rename the cart', 'PRIORITY_LOW', ['names']]);

    // What another changes meanwhile is neither overwritten nor lost.
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Goal').fill('Rename the basket');
    await host.loom('bead', 'update', bead.id, '--goal', 'Rename the trolley', '--priority', 'normal');
    await page.getByText('It is now: Rename the trolley').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Change it' }).isDisabled(), true);
    await sound(page, 'changed-by-two');
    await page.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByRole('button', { name: 'Change it' }).click();
    await page.getByRole('heading', { name: 'Rename the basket' }).waitFor();
    const after = JSON.parse(await host.loom('bead', 'show', bead.id, '--json')).beads[0];
    assert.deepEqual([after.goal, after.priority], ['Rename the basket', 'PRIORITY_NORMAL']);
    const late = await page.evaluate(
      (id) => fetch('/api/v1/updates', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ update: { bead: { id, goal: 'x' }, fields: ['goal'], seen: { goal: 'Rename the trolley' } } }) }).then(async (r) => [r.status, (await r.json()).code]),
      bead.id,
    );
    assert.deepEqual(late, [409, 'bead/changed']);
    await host.loom('bead', 'update', bead.id, '--goal', 'Rename the cart', '--priority', 'low');
    await page.getByRole('link', { name: 'names', exact: true }).click();
    await page.getByText('label names').waitFor();
    await page.reload(); // what is looked for is in the address
    await page.getByText('Rename the cart').waitFor();
    await page.getByLabel('Search beads').fill('nothing like it');
    await page.getByText('No bead is like that.').waitFor();
    assert.equal(await page.evaluate(() => location.hash), '#/beads?text=nothing+like+it&label=names');
    await go('#/beads');
    await page.getByText('Rename the cart').waitFor();
    await sound(page, 'board-1280');
    await page.setViewportSize({ width: 390, height: 844 });
    await sound(page, 'board-390');
    await page.setViewportSize({ width: 1280, height: 860 });
    assert.deepEqual(seen.errors, []);
  });

  test('Ctrl-K leads everywhere, and ? tells the keys', async () => {
    await go('#/');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Go to' }).fill('rename');
    await page.getByRole('option', { name: /^Rename the cart shop-/ }).first().waitFor();
    await sound(page, 'palette');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => /^#\/(beads|inbox)\/shop-/.test(location.hash));
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Go to' }).fill('no such thing');
    await page.getByText('Nothing is called that.').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('#page-main').focus();
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await page.getByText('Times are those of').waitFor();
    await sound(page, 'keys');
    await page.keyboard.press('Escape');
    assert.deepEqual(seen.errors, []);
  });

  test('of 20 tabs one has the stream, and those that nobody sees ask for nothing', async () => {
    const tabs = [];
    const asked = new Map(); // tab to the paths that it asked for
    let bytes = 0;
    try {
      for (let i = 0; i < 20; i++) {
        const tab = await context.newPage();
        tabs.push(tab);
        asked.set(tab, []);
        tab.on('response', async (r) => {
          const path = new URL(r.url()).pathname;
          if (!path.startsWith('/api/')) return;
          asked.get(tab).push(path);
          if (!path.endsWith('/events')) bytes += (await r.body().catch(() => '')).length;
        });
        if (i) await tab.addInitScript(() => Object.defineProperty(document, 'hidden', { get: () => !globalThis.seen }));
        await tab.goto(host.url + '/');
        await tab.getByText('live', { exact: true }).waitFor();
      }
      assert.equal([...asked.values()].flat().filter((p) => p.endsWith('/events')).length, 0, 'the first page has the stream');
      await tabs[0].getByRole('heading', { name: 'Waits for you' }).waitFor();
      await new Promise((r) => setTimeout(r, 500)); // what was asked for is answered
      for (const list of asked.values()) list.length = 0;
      const before = bytes, title = await tabs[19].title();
      const waiting = () => tabs[19].title();
      for (let i = 0; i < 3; i++) await host.report('another fault ' + i);
      await until('the titles of all tabs', async () => (await waiting()) !== title, 60_000);
      const hidden = tabs.slice(1).map((t) => asked.get(t).length);
      assert.equal(Math.max(...hidden), 0, 'hidden tabs asked: ' + hidden);
      assert.ok(bytes - before < 300_000, `${bytes - before} bytes for three reports`);
      // One that is seen again catches up.
      await tabs[19].evaluate(() => { globalThis.seen = true; document.dispatchEvent(new Event('visibilitychange')); });
      await until('the tab that is seen', () => asked.get(tabs[19]).length > 0);
    } finally {
      for (const tab of tabs) await tab.close();
    }
    assert.deepEqual(seen.errors, []);
  });

  test('whoever looks around too fast waits for a moment', async () => {
    let refused = 0;
    const told = (r) => (refused += r.status() === 429);
    page.on('response', told);
    await go('#/');
    for (let i = 0; i < 200 && !refused; i++) {
      await page.evaluate(() => (location.hash = '#/beads'));
      await page.evaluate(() => (location.hash = '#/'));
    }
    assert.ok(refused > 0, 'the host took everything');
    await page.getByRole('heading', { name: 'Waits for you' }).waitFor();
    assert.equal(await page.getByText('may ask').count(), 0);
    page.off('response', told);
    assert.deepEqual(seen.errors, []);
  });

  test('steps of other work, and late replies, are not shown', async () => {
    let free;
    const held = new Promise((r) => (free = r));
    const execution = (id, more) => ({ executions: [{ id: id + '-x1', bead: id, project: 'a', definition: 'fix', version: '1', started_at: '2026-01-02T12:00:00Z', ...more }], definition: { nodes: [] } });
    const bead = (id) => ({ beads: [{ id, status: 'BEAD_STATUS_IN_PROGRESS', goal: 'the goal of ' + id, execution: id + '-x1' }] });
    await told({
      'executions/a-1-x1': async () => execution('a-1', { landing: { commit: 'c0ffee0000' } }),
      'executions/a-2-x1': async () => (await held, execution('a-2', { landing: { commit: 'badc0de000' } })),
      'executions/a-3-x1': async () => execution('a-3'),
      'beads/a-1': async () => bead('a-1'), 'beads/a-2': async () => bead('a-2'), 'beads/a-3': async () => bead('a-3'), 'beads/a-4': async () => (await held, bead('a-4')),
    }, async () => {
      await go('#/beads/a-1-x1');
      await page.getByText('✓ landed c0ffee0000').waitFor();
      await go('#/beads/a-2-x1');
      await page.getByText('✓ landed').waitFor({ state: 'detached' });
      await go('#/beads/a-4'); // which leads on to its execution
      await go('#/beads/a-3-x1');
      await page.getByText('the goal of a-3').waitFor();
      const late = page.waitForResponse(/executions\/a-2-x1/), led = page.waitForResponse(/beads\/a-4/);
      free();
      await Promise.all([late, led]);
      await page.waitForTimeout(300);
      assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'the goal of a-3');
      assert.equal(await page.getByText('✓ landed').count(), 0);
    });
  });

  test('a diff of 5,000 lines is read and signed over whole', async () => {
    const changed = [...Array(1000).keys()].flatMap((n) => [` same ${n}`, `-before ${n}`, `+after ${n}`, ` and ${n}`, `+more ${n}`]);
    const half = changed.length / 2;
    const file = (name, lines) => `diff --git a/${name} b/${name}\n--- a/${name}\n+++ b/${name}\n@@ -1,1500 +1,2000 @@\n${lines.join('\n')}\n`;
    const diff = file('a.txt', changed.slice(0, half)) + file('b.txt', changed.slice(half));
    const approval = { id: 'shop-901', kind: 'APPROVAL_KIND_APPROVAL', question: 'Shall it land?', options: ['APPROVAL_DECISION_APPROVE', 'APPROVAL_DECISION_REQUEST_CHANGES'], asked_at: '2026-01-02T12:00:00Z', change: { diff: { sha256: await sha256(diff), size: String(diff.length) } } };
    approval.digest = await digest(approval);
    const asked = [];
    const count = (r) => asked.push(new URL(r.url()).pathname);
    await told({ 'inbox/shop-901': async () => ({ approvals: [approval], diff }) }, async () => {
      page.on('request', count);
      await go('#/inbox/shop-901');
      await page.getByText('2 files').waitFor();
      // Whoever signs is told that Loom has run nothing on it; what another patch passed is none.
      await page.getByText('Loom has run no check on this change yet').waitFor();
      const checked = (patch) => untried({ ...approval, change: { patch_digest: 'two' }, work: [{ outcome: { change: { patch_digest: patch }, checks: [{ command: 'go test ./...' }] } }] });
      assert.deepEqual([checked('two'), checked('one')], [false, true]);
      for (const layout of ['Side by side', 'Unified']) {
        await page.getByRole('button', { name: layout }).click();
        assert.equal(await page.evaluate(() => new Set([...document.querySelectorAll('.diff [data-line]')].map((n) => n.dataset.line)).size), diff.split('\n').length);
      }
      await page.getByText('This page has computed the digest').waitFor();
      assert.equal(await page.getByText('Do not sign this').count(), 0);
      // From file to file by keys.
      await page.locator('#page-main').focus();
      await page.keyboard.press('n');
      await page.waitForFunction(() => Math.abs(document.querySelectorAll('.diff section')[1].getBoundingClientRect().top) < 120);
      // The diff came when it was opened, and again when the stream began: layouts and files ask for nothing.
      assert.ok(asked.filter((p) => p.endsWith('/inbox/shop-901')).length <= 2, asked.join(' '));
      page.off('request', count);
    });
    assert.deepEqual(seen.errors, []);
  });

  test('one signature of two is one of two', async () => {
    const approval = { id: 'shop-900', kind: 'APPROVAL_KIND_APPROVAL', question: 'Shall we?', keys: 2, options: ['APPROVAL_DECISION_APPROVE', 'APPROVAL_DECISION_REJECT'], asked_at: '2026-01-02T12:00:00Z' };
    approval.digest = await digest(approval);
    const by = (key) => ({ key, decision: 'APPROVAL_DECISION_APPROVE', at: '2026-01-02T12:00:00Z' });
    let now = approval, own = '', sent = 0;
    await told({
      'inbox/shop-900': async () => ({ approvals: [now] }),
      keys: async () => ({ keys: own ? [{ name: 'mine', public_key: own }] : [] }),
      commands: async () => {
        sent++;
        now = { ...approval, signed: [by('mine')] };
        return {};
      },
    }, async () => {
      await go('#/inbox/shop-900');
      await page.getByText('0 of 2 keys have signed').waitFor();
      await page.getByRole('button', { name: 'Make a key in this browser' }).click();
      await page.locator('pre.command').waitFor();
      own = await page.evaluate(async () => {
        const open = indexedDB.open('loom', 1);
        await new Promise((done) => (open.onsuccess = done));
        const got = open.result.transaction('keys').objectStore('keys').get('ceo');
        await new Promise((done) => (got.onsuccess = done));
        return btoa(String.fromCharCode(...got.result.raw));
      });
      await page.getByRole('button', { name: 'I have run it' }).click();
      await page.getByRole('button', { name: 'Approve and sign' }).click();
      await page.getByText('Signed: 1 of 2 keys have signed, and it waits for more.').waitFor();
      await page.getByText('1 of 2 keys have signed: mine').waitFor();
      assert.equal(sent, 1);
      assert.equal(await page.getByText('it goes on.').count(), 0);
      assert.equal(await page.locator('.said.good').count(), 0);
      // The other key signs elsewhere.
      now = { ...approval, signed: [by('mine'), by('theirs')], decision: 'APPROVAL_DECISION_APPROVE', decided_at: '2026-01-02T12:01:00Z' };
      await host.report(fault);
      await page.locator('.said.good', { hasText: 'Signed: it goes on.' }).waitFor();
    });
  });

  test('a session goes on until the host has ended it', async () => {
    await page.goto(host.url + '/');
    await page.route(/session\/end/, (route) => route.abort());
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are still signed in').waitFor();
    assert.equal(await page.getByText('You have signed out').count(), 0);
    assert.doesNotMatch(await host.loom('auth', 'session', 'list'), /nobody is signed in/);
    await page.unroute(/session\/end/);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You have signed out').waitFor();
    assert.match(await host.loom('auth', 'session', 'list'), /nobody is signed in/);
    assert.deepEqual(seen.errors, []);
  });
});
