// A person with a browser, and people who mean no good.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { digest } from '../../internal/page/src/digest.js';
import { Host, browse, picture, until } from './host.mjs';

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

      // The host dies, and the page says so; what the person writes stays.
      await page.getByLabel('Comment').fill('good');
      const port = new URL(host.url).port;
      await host.kill();
      await page.getByText('The host does not answer just now').waitFor();
      await host.start('127.0.0.1:' + port);
      await page.getByText('The host does not answer just now').waitFor({ state: 'hidden' });
      await run('sh', ['-c', command.replace(/^loom /, '"$LOOM_BIN" ')], { cwd: host.dir, env: host.env });
      await page.getByRole('button', { name: 'Approve and sign' }).waitFor();
      assert.equal(await page.getByLabel('Comment').inputValue(), 'good');
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
      await page.evaluate(() => scrollTo(0, 0));
      await sound(page, `work-${size.width}`);
      if (phone) {
        await page.setViewportSize({ width: 360, height: 740 });
        for (const view of ['#/', '#/beads', '#/inbox', '#/inbox/shop-2']) {
          await page.evaluate((v) => (location.hash = v), view);
          await page.waitForTimeout(300);
          await sound(page, 'narrow-' + view.replace(/\W+/g, ''));
        }
      }
      assert.deepEqual(seen, { errors: [], outside: [], dialogs: [] });

      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByText('You have signed out').waitFor();
      assert.match(await host.loom('auth', 'session', 'list'), /nobody is signed in/);
      // Who signed is in the record, and holds without the host.
      const key = /key add (\S+)/.exec(command)[1];
      await host.kill('SIGINT');
      const record = await host.loom('audit', 'verify');
      assert.match(record, new RegExp(`approval-decided by ceo ${key}\n(?: .*\n)*? +signature: valid\n`));
      assert.match(record, /every chain holds, and every signature is valid/);
    } finally {
      await context?.close();
      await host.stop();
    }
  });
}

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
      const reply = await route.fetch({ headers: { ...route.request().headers(), 'sec-fetch-site': 'same-origin' } });
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
    for (const view of ['#/', '#/beads', '#/inbox', '#/beads/shop-1-x1', '#/inbox/' + encodeURIComponent(payloads[0]), '#/beads/' + encodeURIComponent(payloads[1]) + '-x1']) {
      await page.evaluate((v) => (location.hash = v), view);
      await page.waitForTimeout(400);
      for (const words of await page.locator('summary', { hasText: 'the agent’s words' }).all()) await words.click();
      await page.waitForTimeout(200);
      assert.equal(await page.evaluate(() => document.querySelectorAll('main script, main img, main iframe, main object, main svg, main style, main [onerror], main [onload]').length), 0, view);
      assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('a')].map((a) => a.protocol).filter((p) => !/^https?:$/.test(p))), [], view);
    }
    await page.unroute(/transcript/);
    assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
    assert.deepEqual(seen.dialogs, []);
    assert.deepEqual(seen.outside, []);
    assert.deepEqual(seen.errors, []);
  });

  test('characters that hide others are shown', async () => {
    await between((v) => (v.diff = v.diff.replace('>=', '\u202e>=\u200b')), async () => {
      await page.getByText('Do not sign this.').waitFor();
      assert.deepEqual(await page.locator('.odd').evaluateAll((all) => all.map((n) => n.dataset.code)), ['U+202E', 'U+200B']);
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
    await host.loom('approve', 'shop-2');
    await page.getByText('See how it goes on').waitFor();
  });
});
