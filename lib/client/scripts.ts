/** Scripts that are written together, and those that stand alone (UTS 39 section 5.1, "Single Script"). */
const WRITTEN_TOGETHER: readonly RegExp[] = [
  ['Han', 'Hiragana', 'Katakana'], ['Han', 'Bopomofo'], ['Han', 'Hangul'],
  ...['Latin', 'Greek', 'Cyrillic', 'Armenian', 'Hebrew', 'Arabic', 'Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Tamil', 'Telugu', 'Kannada',
    'Malayalam', 'Sinhala', 'Thai', 'Lao', 'Khmer', 'Myanmar', 'Georgian', 'Ethiopic', 'Cherokee'].map(script => [script])
].map(scripts => new RegExp(`^[${['Common', 'Inherited', ...scripts].map(script => `\\p{Script_Extensions=${script}}`).join('')}]*$`, 'u'))

/** Whether one label of a host name is made of letters that nobody writes together, as where a Cyrillic one stands in for one of ASCII. */
export function mixesScripts (label: string): boolean {
  return !WRITTEN_TOGETHER.some(pattern => pattern.test(label))
}
