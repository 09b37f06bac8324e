// What a person has begun to write, kept until it is sent: it survives the host and a
// reload of the page, and goes with the tab. Texts alone are kept, nothing that signs in.

const name = (form) => 'loom draft ' + form;

/** What was written into a form, or null. */
export function draft(form) {
  try {
    return JSON.parse(sessionStorage.getItem(name(form)));
  } catch {
    return null;
  }
}

/** Keeps what is written into a form; null forgets it. */
export function keep(form, value) {
  try {
    if (value === null) sessionStorage.removeItem(name(form));
    else sessionStorage.setItem(name(form), JSON.stringify(value));
  } catch {
    // The browser keeps nothing: the form is all there is.
  }
}

/** Forgets every draft. */
export function forget() {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(name(''))) sessionStorage.removeItem(key);
}
