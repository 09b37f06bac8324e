// A diff in files, lines and rows. The lines together are the text.

/** The files of a unified diff with their lines, in order. A line has its number in the
 * text (i), the text itself (raw), its kind (head, hunk, same, cut, add) and its number
 * before and after the change (a, b; '' where it has none). */
export function read(text) {
  const files = [];
  let before = 0, after = 0, file = null, left = 0, right = 0;
  text.split('\n').forEach((raw, i) => {
    const line = { i, raw, kind: 'head', a: /** @type {number | ''} */ (''), b: /** @type {number | ''} */ ('') };
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(raw);
    if (left <= 0 && right <= 0 && raw.startsWith('diff --git ')) {
      file = { name: raw.replace(/^diff --git a\/.* b\//, ''), lines: [] };
      files.push(file);
    } else if (left <= 0 && right <= 0 && hunk) {
      line.kind = 'hunk';
      [before, after] = [Number(hunk[1]), Number(hunk[3])];
      [left, right] = [Number(hunk[2] ?? 1), Number(hunk[4] ?? 1)];
    } else if (left > 0 || right > 0) {
      const sign = raw[0];
      if (sign === '+') { line.kind = 'add'; line.b = after++; right--; }
      else if (sign === '-') { line.kind = 'cut'; line.a = before++; left--; }
      else if (sign === '\\') line.kind = 'hunk';
      else { line.kind = 'same'; line.a = before++; line.b = after++; left--; right--; }
    }
    if (!file) files.push((file = { name: '', lines: [] }));
    file.lines.push(line);
  });
  for (const f of files) {
    f.adds = f.lines.filter((l) => l.kind === 'add').length;
    f.cuts = f.lines.filter((l) => l.kind === 'cut').length;
    f.rows = rows(f.lines);
  }
  return files;
}

// Rows for two columns: what was cut beside what was put in its place. Of the lines of
// such a pair, from and to say where they differ.
function rows(lines) {
  const out = [];
  for (let i = 0; i < lines.length; ) {
    if (lines[i].kind !== 'cut' && lines[i].kind !== 'add') {
      const l = lines[i++];
      out.push(l.kind === 'same' ? { left: l, right: l } : { whole: l });
      continue;
    }
    const cut = [], add = [];
    while (lines[i]?.kind === 'cut') cut.push(lines[i++]);
    while (lines[i]?.kind === 'add') add.push(lines[i++]);
    for (let n = 0; n < Math.max(cut.length, add.length); n++) {
      if (cut[n] && add[n]) differ(cut[n], add[n]);
      out.push({ left: cut[n], right: add[n] });
    }
  }
  return out;
}

function differ(cut, add) {
  const a = cut.raw, b = add.raw;
  let from = 1, end = 0;
  while (from < a.length && from < b.length && a[from] === b[from]) from++;
  while (end < a.length - from && end < b.length - from && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  // Lines that have little in common are not compared letter by letter.
  if ((from - 1 + end) * 3 < Math.max(a.length, b.length)) return;
  // No character of two halves is cut in two.
  if (from > 1 && /[\udc00-\udfff]/.test(a[from] ?? b[from] ?? '')) from--;
  if (end && /[\udc00-\udfff]/.test(a[a.length - end])) end--;
  [cut.from, cut.to] = [from, a.length - end];
  [add.from, add.to] = [from, b.length - end];
}

/** Where a line is, as people write it: "a.go:12", of one that was cut with "before". */
export const place = (file, line) => `${file}:${line.kind === 'cut' ? line.a + ' (before)' : line.b}`;

/** One text of a comment and notes at lines: each note with its place and the line that it is about. */
export const gathered = (comment, notes) =>
  [comment.trim(), ...notes.map((n) => `${n.place}\n> ${n.quote}\n${n.text.trim()}`)].filter(Boolean).join('\n\n');
