// Text as it is meant to be read: programs that print for a terminal colour it with codes that a page cannot show.

// biome-ignore lint/complexity/useRegexLiterals: a literal may not hold control characters
const ANSI_CODES = new RegExp(
  '\\u001b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)?|[@-Z\\\\-_])',
  'g',
)

/** A text without a terminal's codes. */
export const stripAnsi = (text: string): string =>
  text.includes('\u001b') ? text.replace(ANSI_CODES, '') : text
