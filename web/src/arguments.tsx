// Arguments of a call as JSON, with what its tool's schema does not take said at the place where it stands.
import { Block } from './parts'
import type { Reason } from './episode'
import { visible } from './words'

interface Piece {
  depth: number
  text: string
  pointer: string
}

export function Arguments({ text, reasons }: { text: string; reasons: Reason[] }) {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (err) {
    return (
      <>
        <Block className="args">{text}</Block>
        <p className="wrong">These arguments are no JSON: {visible((err as Error).message)}</p>
      </>
    )
  }
  if (reasons.length === 0) return <Block className="args">{text.length > 100_000 ? text : JSON.stringify(value, null, 2)}</Block>
  const pieces: Piece[] = []
  lines(value, '', 0, '', '', pieces)
  const told = new Set<Reason>()
  const at = (p: string) => reasons.filter((r) => !told.has(r) && r.pointer === p && told.add(r))
  return (
    <>
      <pre className="block args">
        {pieces.map((p, i) => {
          const here = at(p.pointer)
          return (
            <span key={i} className={here.length ? 'wrong-line' : undefined}>
              {'  '.repeat(p.depth) + visible(p.text)}
              {here.map((r, k) => <em key={k} className="wrong">{' \u2190 '}{visible(r.text)}</em>)}
              {'\n'}
            </span>
          )
        })}
      </pre>
      {reasons.filter((r) => !told.has(r)).map((r, i) => <p key={i} className="wrong">{r.pointer && visible(r.pointer) + ': '}{visible(r.text)}</p>)}
    </>
  )
}

function lines(value: unknown, key: string, depth: number, pointer: string, comma: string, out: Piece[]) {
  const name = key === '' && pointer === '' ? '' : /^\d+$/.test(key) && !pointer.endsWith('"') ? '' : JSON.stringify(key) + ': '
  if (value && typeof value === 'object') {
    const list = Array.isArray(value)
    const entries = Object.entries(value)
    out.push({ depth, text: (list && depth && /^\d+$/.test(key) ? '' : name) + (list ? '[' : '{'), pointer })
    entries.forEach(([k, v], i) => lines(v, k, depth + 1, pointer + '/' + k.replaceAll('~', '~0').replaceAll('/', '~1'), i + 1 < entries.length ? ',' : '', out))
    out.push({ depth, text: (list ? ']' : '}') + comma, pointer: pointer + '\0' })
    return
  }
  out.push({ depth, text: name + JSON.stringify(value) + comma, pointer })
}
