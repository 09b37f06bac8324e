// What people read in the place of values.

export const words = (value) =>
  String(value ?? '').replace(/^(APPROVAL_DECISION|APPROVAL_KIND|NODE_STATUS|WORK_STATE|EXECUTION_STATUS|OUTCOME_STATUS|BEAD_TYPE|BEAD_STATUS|DECISION_TYPE|DECISION_STATUS|NODE_TYPE|TOOL_STATUS)_/, '').replaceAll('_', ' ').toLowerCase();

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });

/** A moment in the reader's zone: the time today, the day before that. */
export function moment(text) {
  if (!text) return '';
  const at = new Date(text);
  return at.toDateString() === new Date().toDateString() ? clock.format(at) : day.format(at) + ' ' + clock.format(at);
}

/** The zone that moments are told in. */
export const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;

export const exactly = (text) => (text ? whole.format(new Date(text)) : '');

/** How long it took, in words of one unit or two. */
export const took = (from, to) => span(new Date(to ?? Date.now()).getTime() - new Date(from).getTime());

/** So many milliseconds, in words of one unit or two. */
export function span(ms) {
  const s = ms / 1000;
  if (!(s >= 0)) return '';
  if (s < 10) return s.toFixed(1) + ' s';
  if (s < 120) return Math.round(s) + ' s';
  if (s < 7200) return Math.round(s / 60) + ' min';
  return (s / 3600).toFixed(1) + ' h';
}

export const money = (microUsd) => '$' + (Number(microUsd ?? 0) / 1e6).toFixed(2);

export const count = (n) => Number(n ?? 0).toLocaleString();
