/** The class attribute of an element: its parts that hold, one after the other. */
export const classes = (...parts: (string | false | null | undefined)[]): string =>
  parts.filter(Boolean).join(' ')
