// Looks at the page of a host with Lighthouse, as somebody who is signed in, on a desk and
// on a phone (with a slower processor and network, as Lighthouse has them), and at how long
// the page takes to answer a person. LOOM_BIN is the program; see README.md.
import lighthouse, { desktopConfig } from 'lighthouse';
import { Host, browse, until } from '../../test/browser/host.mjs';

const port = 9300 + Math.floor(Math.random() * 500);
const host = new Host();
let context;
try {
  await host.start();
  for (let i = 0; i < 20; i++) await host.report(`fault ${i} of the shop`);
  const b = await browse(host, { args: ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-port=' + port] });
  context = b.context;
  await b.page.goto(await host.link());
  await until('an approval', async () => JSON.parse(await host.loom('inbox', '--json')).approvals?.length);

  console.log('| view | | performance | accessibility | best practices | first words, ms | largest, ms | blocked, ms | layout shift | kB |');
  console.log('|---|---|---|---|---|---|---|---|---|---|');
  for (const view of ['', '#/inbox', '#/beads', '#/beads/shop-1', '#/files'])
    for (const [form, config] of [['desk', desktopConfig], ['phone', undefined]]) {
      const { lhr } = await lighthouse(`${host.url}/${view}`, { port, logLevel: 'error', disableStorageReset: true, onlyCategories: ['performance', 'accessibility', 'best-practices'] }, config);
      const score = (name) => Math.round(lhr.categories[name].score * 100);
      const of = (name) => lhr.audits[name].numericValue;
      console.log(`| \`/${view}\` | ${form} | ${score('performance')} | ${score('accessibility')} | ${score('best-practices')} | ${Math.round(of('first-contentful-paint'))} | ${Math.round(of('largest-contentful-paint'))} | ${Math.round(of('total-blocking-time'))} | ${of('cumulative-layout-shift').toFixed(3)} | ${Math.round(of('total-byte-weight') / 1024)} |`);
      for (const a of Object.values(lhr.audits)) if (a.score !== null && a.score < 0.9 && a.scoreDisplayMode === 'binary') console.error(`${view} ${form}: ${a.id}: ${a.title} ${(a.details?.items ?? []).map((n) => n.node?.snippet).slice(0, 5).join(' ')}`);
    }

  // From a key or a click to what it shows, at a desk, without slowing anything down.
  await b.page.goto(host.url + '/');
  await b.page.getByRole('heading', { name: 'Waits for you' }).waitFor();
  const took = async (name, act, shown) => {
    const times = [];
    for (let i = 0; i < 20; i++) {
      await b.page.evaluate(() => (location.hash = '#/'));
      await b.page.getByRole('heading', { name: 'Waits for you' }).waitFor();
      times.push(await b.page.evaluate(
        ({ act, shown }) => new Promise((done) => {
          const began = performance.now();
          const look = () => (document.querySelector(shown) ? requestAnimationFrame(() => done(performance.now() - began)) : requestAnimationFrame(look));
          if (act.key) dispatchEvent(new KeyboardEvent('keydown', { ...act, bubbles: true }));
          else location.hash = act.hash;
          look();
        }),
        { act, shown },
      ));
      await b.page.keyboard.press('Escape');
    }
    times.sort((x, y) => x - y);
    console.log(`| ${name} | ${times[10].toFixed(0)} | ${times[19].toFixed(0)} |`);
  };
  console.log('\n| from | half of them within, ms | all within, ms |\n|---|---|---|');
  await took('Ctrl-K to the palette', { key: 'k', ctrlKey: true }, 'dialog[open]');
  await took('Now to the inbox with its diff', { hash: '#/inbox' }, '.diff [data-line]');
  await took('Now to the board', { hash: '#/beads' }, '.column .what');
  await took('Now to a bead', { hash: '#/beads/shop-1' }, '[data-step]');
} finally {
  await context?.close();
  await host.stop();
}
