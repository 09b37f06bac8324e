// Characters that a reader would not see, or that would show others elsewhere: all that
// Unicode says may be ignored, controls, formats, and the blanks that look like nothing.
const odd = /(?![\t\n])[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\u2028\u2029\u2800\u3164\uFFA0]/gu;

/** Whether a text has odd characters. */
export const isOdd = (text) => text.search(odd) >= 0;

/** A text in parts: what reads as it is, and odd characters with their codes. Together
 * they are the text. */
export function parts(text) {
  const out = [];
  let at = 0;
  for (const m of text.matchAll(odd)) {
    if (m.index > at) out.push({ s: text.slice(at, m.index) });
    out.push({ s: m[0], code: 'U+' + m[0].codePointAt(0).toString(16).toUpperCase().padStart(4, '0') });
    at = m.index + m[0].length;
  }
  if (at < text.length || !out.length) out.push({ s: text.slice(at) });
  return out;
}
