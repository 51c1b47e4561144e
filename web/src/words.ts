// Numbers and names as a person reads them.

export function number(x: number | null | undefined, digits = 3): string {
  if (x === null || x === undefined || !Number.isFinite(x)) return '-'
  if (x === 0) return '0'
  const size = Math.abs(x)
  if (size >= 1e5 || size < 1e-3) return x.toExponential(1).replace('e+', 'e')
  return Number(x.toPrecision(digits)).toLocaleString('en', { maximumFractionDigits: 4 })
}

export function count(n: number, one: string): string {
  const many = /[^aeiou]y$/.test(one) ? one.slice(0, -1) + 'ies' : one + 's'
  return `${n.toLocaleString('en')} ${n === 1 ? one : many}`
}

export function percent(x: number | null | undefined, digits = 0): string {
  return x === null || x === undefined ? '-' : (100 * x).toFixed(digits) + '%'
}

// points is a difference of shares in percentage points.
export function points(x: number): string {
  const text = (100 * Math.abs(x)).toFixed(1)
  return (x < 0 ? '\u2212' : x > 0 ? '+' : '') + text
}

export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return '-'
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`
  if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export function dollars(x: number | null | undefined): string {
  return x === null || x === undefined ? '-' : '$' + (x < 0.1 && x > 0 ? x.toPrecision(2) : x.toFixed(2))
}

export function bytes(n: number): string {
  return n < 1e4 ? `${n} bytes` : n < 1e7 ? `${Math.round(n / 1e3)} kB` : `${Math.round(n / 1e6)} MB`
}

export function words(name: string): string {
  return name.replaceAll('_', ' ')
}

export function date(text: string | undefined): string {
  if (!text || text.startsWith('0001')) return '-'
  return new Date(text).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
}

// visible shows control characters, and those that turn text around or take no room, in place of obeying them.
export function visible(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, (c) => {
    const code = c.codePointAt(0)!
    return code < 0x20 ? String.fromCodePoint(0x2400 + code) : code === 0x7f ? '\u2421' : `\\u${code.toString(16).padStart(4, '0')}`
  })
}
