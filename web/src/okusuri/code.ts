/** The codes that are sent by mail. */

/** How long a code is. */
export const CODE_DIGITS = 6;

/** The digits of what was typed or pasted: `123 456`, `１２３４５６`, or a whole line of the mail. */
export function digitsOf(typed: string): string {
  const text = typed.normalize('NFKC');
  const whole = new RegExp(`(?<!\\d)\\d{${CODE_DIGITS}}(?!\\d)`).exec(text);
  return whole?.[0] ?? text.replaceAll(/\D/g, '').slice(0, CODE_DIGITS);
}
