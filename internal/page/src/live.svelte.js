// One stream of what happens, for all tabs of a browser: the one that holds a lock has it,
// and tells the others; when it is closed, another takes over. The stream brings no views:
// a notice says that something has changed, and what is shown is asked for again. The
// browser goes on from the cursor of the last event by itself, so that nothing is missed.
// A tab that nobody sees asks for nothing until it is seen again; how much waits for the
// person, which stands in its title, it hears from another.

/** at counts what views have to look at again, news what the page itself has to; waiting is
 * how many approvals wait. */
export const live = $state({ connected: true, at: 0, news: 0, waiting: 0 });

let channel;
let abort;
let source;
let due;
let missed = false;

function changed(delay) {
  due ??= setTimeout(() => {
    due = undefined;
    if (!document.hidden || source) live.news++;
    if (document.hidden) missed = true;
    else live.at++;
  }, delay);
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden || !missed) return;
  missed = false;
  changed(0);
});

function take(news) {
  if (news.waiting !== undefined) {
    live.waiting = news.waiting;
  } else if (news.connected !== undefined) {
    if (news.connected && !live.connected) changed(0);
    live.connected = news.connected;
  } else {
    changed(150); // many that come at once are one
  }
}

function tell(news) {
  take(news);
  channel?.postMessage(news);
}

/** Tells all tabs how many approvals wait. */
export function share(waiting) {
  if (waiting !== live.waiting) tell({ waiting });
}

function listen() {
  source = new EventSource('/api/v1/events?since=' + encodeURIComponent(new Date().toISOString()));
  source.onopen = () => tell({ connected: true });
  source.onmessage = () => tell({});
  source.addEventListener('problem', () => tell({})); // the session may have ended: whoever asks next is told
  source.onerror = () => {
    tell({ connected: false });
    if (source.readyState === EventSource.CLOSED) setTimeout(() => source && listen(), 2000); // no stream was answered
  };
}

export function follow() {
  channel = new BroadcastChannel('loom');
  channel.onmessage = (e) => take(e.data);
  abort = new AbortController();
  const held = new Promise((done) => abort.signal.addEventListener('abort', done));
  navigator.locks
    .request('loom-stream', { signal: abort.signal }, () => {
      listen();
      changed(0); // between the one before and this, something may have happened
      return held;
    })
    .catch(() => {}); // it was not waited for any longer
}

export function stop() {
  abort?.abort();
  source?.close();
  channel?.close();
  source = channel = undefined;
}

/** Calls heard with each piece that an agent's model writes, as it writes it, until what is
 * returned is called. Nothing is heard while nobody looks at the page.
 * @param {import('./routes.d.ts').Asked<'live'>} of
 * @param {(text: string) => void} heard */
export function writes(of, heard) {
  /** @type {EventSource | undefined} */
  let pieces;
  const look = () => {
    if (document.hidden) {
      pieces?.close();
      pieces = undefined;
    } else if (!pieces) {
      pieces = new EventSource('/api/v1/live?' + new URLSearchParams(/** @type {any} */ (of)));
      pieces.onmessage = (e) => heard(JSON.parse(e.data).text ?? '');
      pieces.addEventListener('lost', () => heard(' … '));
    }
  };
  look();
  document.addEventListener('visibilitychange', look);
  return () => {
    document.removeEventListener('visibilitychange', look);
    pieces?.close();
  };
}
