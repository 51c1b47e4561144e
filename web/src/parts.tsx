// Pieces that several screens are made of.
import { useEffect, useLayoutEffect, useRef, useState, type ReactNode } from 'react'
import type { Answer, Failure } from './ask'
import { bytes, visible } from './words'

// Text shows what a model or a server wrote: as text, its control characters made visible.
export function Text({ children, className }: { children: string | undefined | null; className?: string }) {
  return <span className={className}>{visible(children ?? '')}</span>
}

// most is how much of a text is laid out at first: a browser takes seconds for megabytes.
const most = 8000

export function Block({ children, className = '', label }: { children: string | undefined | null; className?: string; label?: string }) {
  const [whole, setWhole] = useState(false)
  const text = children ?? ''
  const shown = whole || text.length <= most ? text : text.slice(0, most)
  return (
    <>
      <pre className={'block ' + className} aria-label={label} tabIndex={text.length > 400 ? 0 : undefined}>{visible(shown)}</pre>
      {shown.length < text.length && (
        <button className="link" onClick={() => setWhole(true)}>
          Show {bytes(text.length - shown.length)} more
        </button>
      )}
    </>
  )
}

export function Problem({ failure }: { failure: Failure }) {
  return (
    <div className="problem" role="alert">
      <p>
        <strong>{visible(failure.what)}</strong>
        {failure.where && <> &middot; {visible(failure.where)}</>}
      </p>
      {failure.why && <p>{visible(failure.why)}</p>}
      {failure.next && <p>Next: {visible(failure.next)}</p>}
    </div>
  )
}

export function Empty({ children }: { children: ReactNode }) {
  return <p className="empty">{children}</p>
}

// Waits shows an answer, or that it is awaited, or why there is none. What was answered before stays beside a failure.
export function Waits<T>({ of, children }: { of: Answer<T>; children: (value: T) => ReactNode }) {
  return (
    <>
      {of.failure && <Problem failure={of.failure} />}
      {of.value !== undefined ? children(of.value) : !of.failure && <p className="quiet" role="status">Reading ...</p>}
    </>
  )
}

// VirtualList lays out only the rows that are seen, of any number. Each is as high as the others.
export function VirtualList({ count, height, at, label, children }: { count: number; height: number; at?: number; label: string; children: (index: number) => ReactNode }) {
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, room: 800 })
  useLayoutEffect(() => {
    const el = box.current!
    const measure = () => setView({ top: el.scrollTop, room: el.clientHeight || 800 })
    measure()
    const watch = new ResizeObserver(measure)
    watch.observe(el)
    return () => watch.disconnect()
  }, [])
  useEffect(() => {
    const el = box.current!
    if (at === undefined || at < 0) return
    if (at * height < el.scrollTop) el.scrollTop = at * height
    else if ((at + 1) * height > el.scrollTop + el.clientHeight) el.scrollTop = (at + 1) * height - el.clientHeight
  }, [at, height])
  const first = Math.max(0, Math.floor(view.top / height) - 8)
  const last = Math.min(count, Math.ceil((view.top + view.room) / height) + 8)
  const rows = []
  for (let i = first; i < last; i++) rows.push(children(i))
  return (
    <div className="list" ref={box} role="group" aria-label={label} tabIndex={0} onScroll={(e) => setView({ top: e.currentTarget.scrollTop, room: e.currentTarget.clientHeight })}>
      <div style={{ height: count * height, position: 'relative' }}>
        <div style={{ position: 'absolute', top: first * height, left: 0, right: 0 }}>{rows}</div>
      </div>
    </div>
  )
}

export interface Interval {
  mean: number
  low: number
  high: number
  n: number
  method?: string
  too_few?: boolean
}

// Lane draws an estimate and its interval on an axis from low to high.
export function Lane({ of, low, high, zero, tone }: { of: Interval; low: number; high: number; zero?: boolean; tone: string }) {
  const at = (x: number) => 100 * Math.min(1, Math.max(0, (x - low) / (high - low || 1)))
  return (
    <svg className={'lane ' + tone} viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">
      {zero && <line className="zero" x1={at(0)} x2={at(0)} y1={0} y2={12} />}
      <line className="whisker" x1={at(of.low)} x2={at(of.high)} y1={6} y2={6} />
      <line className="mid" x1={at(of.mean)} x2={at(of.mean)} y1={1} y2={11} />
    </svg>
  )
}

export interface Term {
  name: string
  score: number
  weight: number
  why?: string
  judgement?: { model: string; rubric?: string; samples?: number[]; fallback?: boolean; failed?: string; axes?: Record<string, number> }
}

// Terms is a reward as a stacked bar: what each term gave to the right, what it took to the left.
export function Terms({ terms, names, span }: { terms: Term[]; names: string[]; span: number }) {
  const give = terms.map((t) => ({ ...t, earned: t.score * t.weight }))
  const taken = give.filter((t) => t.earned < 0).reduce((sum, t) => sum - t.earned, 0)
  const full = Math.max(span, 1e-9)
  let left = 0
  const says = give.map((t) => `${t.name} ${(t.score * t.weight).toFixed(2)}`).join(', ')
  return (
    <div className="terms" role="img" aria-label={says || 'no terms'} title={says}>
      {taken > 0 && <i className="taken" style={{ width: `${(100 * taken) / full}%` }} />}
      {give.map((t, i) => {
        if (t.earned <= 0) return null
        const x = left
        left += t.earned
        return <i key={i} className={'tone' + (names.indexOf(t.name) % 8)} style={{ width: `${(100 * (left - x)) / full}%` }} />
      })}
    </div>
  )
}

export function TermLegend({ names }: { names: string[] }) {
  return (
    <ul className="legend" aria-label="terms of the reward">
      {names.map((n, i) => (
        <li key={n}>
          <i className={'swatch tone' + (i % 8)} />
          <Text>{n}</Text>
        </li>
      ))}
    </ul>
  )
}

// Keys are what a screen can be worked by; ? shows them.
export function Keys({ keys, onClose }: { keys: [string, string][]; onClose: () => void }) {
  const close = useRef<HTMLButtonElement>(null)
  useEffect(() => close.current?.focus(), [])
  return (
    <div className="overlay" role="dialog" aria-modal="true" aria-labelledby="keys-title" onClick={onClose} onKeyDown={(e) => e.key === 'Escape' && onClose()}>
      <div className="sheet" onClick={(e) => e.stopPropagation()}>
        <h2 id="keys-title">Keys</h2>
        <dl className="keys">
          {keys.map(([key, what]) => (
            <div key={key}>
              <dt>
                {key.split(' ').map((k) => (
                  <kbd key={k}>{k}</kbd>
                ))}
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <button ref={close} onClick={onClose}>
          Close
        </button>
      </div>
    </div>
  )
}

// useKeys calls a key's deed, but not while a person types.
export function useKeys(deeds: Record<string, (e: KeyboardEvent) => void>, on = true) {
  const latest = useRef(deeds)
  latest.current = deeds
  useEffect(() => {
    if (!on) return
    const press = (e: KeyboardEvent) => {
      const el = e.target as HTMLElement
      if (e.ctrlKey || e.metaKey || e.altKey || (/^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName) && (el as HTMLInputElement).type !== 'checkbox')) return
      const deed = latest.current[e.key]
      if (deed) {
        e.preventDefault()
        deed(e)
      }
    }
    window.addEventListener('keydown', press)
    return () => window.removeEventListener('keydown', press)
  }, [on])
}
