/** The sign-in codes that are sent by email. */

/** The length of a code. */
export const CODE_DIGITS = 6;

/** Finds the code in typed or pasted text: `123 456`, `１２３４５６`, or a whole line of the email. */
export function digitsOf(typed: string): string {
  const text = typed.normalize('NFKC');
  const whole = new RegExp(`(?<!\\d)\\d{${CODE_DIGITS}}(?!\\d)`).exec(text);
  return whole?.[0] ?? text.replaceAll(/\D/g, '').slice(0, CODE_DIGITS);
}
