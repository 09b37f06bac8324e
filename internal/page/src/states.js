// What the steps of an execution have come to.

/** The steps of an execution in the order of its definition, each with its state; the
 * start is none. */
export const steps = (definition, x) =>
  (definition?.nodes ?? []).filter((n) => n.type !== 'NODE_TYPE_START').map((n) => ({ ...n, state: x?.nodes?.[n.id] ?? {} }));

/** Where an answer was signed: the approval itself, or ''. */
export const signedAt = (n, x) => n.state.approval || (n.type === 'NODE_TYPE_APPROVAL' && n.state.status === 'NODE_STATUS_SUCCEEDED' ? (x?.approved?.approval ?? '') : '');

/** The mark of a step. Green is for what was run or signed, and the mark says what: an
 * agent's word is none. */
export function mark(n, x) {
  const s = n.state, o = s.outcome ?? {};
  switch (s.status) {
    case 'NODE_STATUS_SUCCEEDED':
      if (o.landing || o.checks?.some((c) => c.passed)) return { kind: 'good', sign: '✓', text: o.landing ? 'landed' : 'checks passed' };
      if (signedAt(n, x)) return { kind: 'good', sign: '✓', text: 'signed' };
      if (n.type === 'NODE_TYPE_END') return { kind: 'done', sign: '•', text: 'reached' };
      return { kind: 'done', sign: '•', text: o.candidate ? 'committed' : 'done, as the agent says' };
    case 'NODE_STATUS_FAILED': return { kind: 'bad', sign: '✗', text: 'failed' };
    case 'NODE_STATUS_WAITING': return { kind: 'wait', sign: '!', text: 'waits for you' };
    case 'NODE_STATUS_RUNNING': return { kind: 'run', sign: '▸', text: s.attempt?.parked ? 'parked: ' + s.attempt.parked : s.attempt?.claimant ? 'running' : 'queued' };
    case 'NODE_STATUS_BACKOFF': return { kind: 'run', sign: '↻', text: 'tried again soon' };
    case 'NODE_STATUS_SKIPPED': return { kind: 'none', sign: '–', text: 'skipped' };
    case 'NODE_STATUS_DETACHED': return { kind: 'none', sign: '⇢', text: 'done after the end' };
  }
  return { kind: 'none', sign: '', text: 'not reached' };
}

/** The attempts at a step, oldest first, with the one under way. */
export const attempts = (s) => [...(s.history ?? []), ...(s.attempt && !s.attempt.ended_at ? [s.attempt] : [])];

/** Whether a person is asked for a change on which no check has run: neither where it was
 * made nor on its candidate. What another change passed is not taken for that. */
export function untried(a) {
  if (a.kind !== 'APPROVAL_KIND_APPROVAL' || !a.change) return false;
  let made = ''; // the patch that stood when an attempt ended
  for (const { outcome: o } of a.work ?? []) {
    made = o?.change?.patch_digest || o?.candidate?.patch_digest || made;
    if (made === (a.change.patch_digest ?? '') && o?.checks?.length) return false;
  }
  return true;
}
