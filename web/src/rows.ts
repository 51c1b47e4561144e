// The index of a run's trajectories in columns: read once, followed while the run goes on, filtered and grouped here.
import { useEffect, useState } from 'react'
import { ask, bundled, failureOf, type Failure } from './ask'

interface Page {
  seq: number
  more: boolean
  total: number
  whole: boolean
  stages: string[]
  scenarios: string[]
  outcomes: string[]
  stops: string[]
  tools: string[]
  term_names: string[]
  n: number[]
  id: string[]
  stage: number[]
  step: number[]
  scenario: number[]
  rollout: number[]
  attempt: number[]
  outcome: number[]
  stop: number[]
  reward: (number | null)[]
  passed: number[]
  turns: number[]
  calls: number[]
  errors: number[]
  tokens: number[]
  seconds: number[]
  called: number[][]
  terms: number[][]
  bad?: { n: number; why: string }[]
}

const numbers = ['stage', 'step', 'scenario', 'rollout', 'attempt', 'outcome', 'stop', 'passed', 'turns', 'calls', 'errors', 'tokens', 'seconds'] as const
type Column = (typeof numbers)[number]
export const FAILED = 0
export const PASSED = 1

export class Rows {
  seq = 0
  total = 0
  whole = false
  version = 0
  stages: string[] = []
  scenarios: string[] = []
  outcomes: string[] = []
  stops: string[] = []
  tools: string[] = []
  termNames: string[] = []
  ids: string[] = []
  reward: (number | null)[] = []
  called: number[][] = []
  terms: number[][] = []
  bad = new Map<number, string>()
  cols = Object.fromEntries(numbers.map((c) => [c, [] as number[]])) as Record<Column, number[]>

  get length() {
    return this.cols.step.length
  }

  take(p: Page) {
    this.stages.push(...p.stages)
    for (const name of p.scenarios) this.scenarios.push(name)
    this.outcomes.push(...p.outcomes)
    this.stops.push(...p.stops)
    this.tools.push(...p.tools)
    this.termNames.push(...p.term_names)
    const { n } = p
    for (const c of numbers) {
      const into = this.cols[c]
      const from = p[c]
      for (let i = 0; i < n.length; i++) into[n[i]] = from[i]
    }
    for (let i = 0; i < n.length; i++) {
      this.ids[n[i]] = p.id[i]
      this.reward[n[i]] = p.reward[i]
      this.called[n[i]] = p.called[i]
      this.terms[n[i]] = p.terms[i]
      this.bad.delete(n[i])
    }
    for (const b of p.bad ?? []) this.bad.set(b.n, b.why)
    this.seq = p.seq
    this.total = p.total
    this.whole = p.whole
    this.version++
  }

  known(): string {
    return [this.stages, this.scenarios, this.outcomes, this.stops, this.tools, this.termNames].map((d) => d.length).join(',')
  }

  stage(i: number) {
    return this.stages[this.cols.stage[i]]
  }
  scenario(i: number) {
    return this.scenarios[this.cols.scenario[i]]
  }
  id(i: number) {
    return this.ids[i] || `${this.stage(i)}/${this.scenario(i)}/${this.cols.step[i]}/${this.cols.rollout[i]}`
  }
  term(i: number, name: number): number | undefined {
    const list = this.terms[i]
    for (let k = 0; k < list.length; k += 3) if (list[k] === name) return list[k + 1]
    return undefined
  }
}

export interface Followed {
  rows: Rows
  version: number // of the run
  trouble: string
  failure?: Failure
  reading: boolean
}

const followers = new Map<string, Follower>()

class Follower {
  rows = new Rows()
  state: Followed = { rows: this.rows, version: 0, trouble: '', reading: true }
  told = new Set<() => void>()
  events?: EventSource
  busy = false
  again = false

  constructor(readonly run: string) {}

  // listen follows the run; later is how long the rows may wait, in milliseconds, where a screen shows something else first.
  listen(told: () => void, later: number) {
    this.told.add(told)
    const begins = setTimeout(() => this.told.size > 0 && this.begin(), later)
    return () => {
      clearTimeout(begins)
      this.told.delete(told)
      if (this.told.size === 0) {
        this.events?.close()
        this.events = undefined
      }
    }
  }

  begin() {
    if (this.events) return
    void this.read()
    if (bundled) return
    this.events = new EventSource('api/events?run=' + encodeURIComponent(this.run))
    this.events.onmessage = (e) => {
      const { version, trouble } = JSON.parse(e.data) as { version: number; trouble: string }
      if (version === this.state.version && trouble === this.state.trouble && this.rows.whole) return
      this.set({ version, trouble })
      void this.read()
    }
    this.events.onerror = () => this.set({ trouble: 'hone view does not answer; what is shown is what it said last' })
  }

  set(change: Partial<Followed>) {
    this.state = { ...this.state, ...change }
    for (const told of this.told) told()
  }

  async read() {
    if (this.busy) {
      this.again = true
      return
    }
    this.busy = true
    try {
      do {
        this.again = false
        for (let more = true; more; ) {
          const page = await ask<Page>('rows', bundled ? { run: this.run, since: this.rows.seq } : { run: this.run, since: this.rows.seq, known: this.rows.known() })
          if (page.n.length > 0 || page.total !== this.rows.total || page.whole !== this.rows.whole) {
            this.rows.take(page)
            this.set({ failure: undefined, reading: !page.whole })
          } else {
            this.rows.seq = page.seq
          }
          more = page.more
        }
      } while (this.again)
      if (this.rows.whole && this.state.reading) this.set({ reading: false })
    } catch (err) {
      this.set({ failure: failureOf(err) })
    } finally {
      this.busy = false
    }
  }
}

export function useRows(run: string, later = 0): Followed {
  const [, tick] = useState(0)
  let f = followers.get(run)
  if (!f) followers.set(run, (f = new Follower(run)))
  useEffect(() => (run ? f.listen(() => tick((n) => n + 1), later) : undefined), [f, run, later])
  return f.state
}
