// Searches of trajectories: words such as outcome:limit or reward<0.5, and others, which are looked for in what was said.
import { FAILED, PASSED, type Rows } from './rows'

export interface Search {
  tests: ((rows: Rows) => (i: number) => boolean)[]
  text: string // looked for by the server
  problems: string[]
}

const amounts = ['reward', 'step', 'turns', 'calls', 'errors', 'tokens', 'seconds', 'rollout', 'attempt'] as const
const lists = ['stage', 'scenario', 'outcome', 'reason', 'tool', 'term'] as const

export const help =
  'Words are looked for in names, tasks, answers, calls and errors. Beside them: outcome:limit, reason:max_turns, tool:search, stage:grpo, scenario:name, passed:yes, term:checks<1, reward>0.5, step:3, calls:0, errors>0, tokens>500, seconds>10, bad:yes. A minus in front turns one around: -outcome:ok.'

export function parse(query: string): Search {
  const out: Search = { tests: [], text: '', problems: [] }
  const words: string[] = []
  for (const raw of query.match(/"[^"]*"|\S+/g) ?? []) {
    const not = raw.startsWith('-') && raw.length > 1
    const word = not ? raw.slice(1) : raw
    const found = /^([a-z_]+)(:|<=|>=|<|>)(.*)$/.exec(word)
    const test = found && testOf(found[1], found[2], found[3])
    if (!found || (!test && !known(found[1]))) {
      words.push(raw.replace(/^"|"$/g, ''))
    } else if (!test) {
      out.problems.push(`${raw}: ${found[3] ? 'takes a number' : 'nothing stands behind it'}`)
    } else {
      out.tests.push(
        not
          ? (rows) => {
              const t = test(rows)
              return (i) => !t(i)
            }
          : test,
      )
    }
  }
  out.text = words.join(' ')
  return out
}

function known(name: string): boolean {
  return name === 'passed' || name === 'bad' || (amounts as readonly string[]).includes(name) || (lists as readonly string[]).includes(name)
}

type Test = (rows: Rows) => (i: number) => boolean

function testOf(name: string, op: string, value: string): Test | undefined {
  if (value === '') return undefined
  if (name === 'passed') {
    const want = /^(yes|true|1)$/.test(value) ? PASSED : FAILED
    return (rows) => (i) => rows.cols.passed[i] === want
  }
  if (name === 'bad') return (rows) => (i) => rows.bad.has(i)
  if (name === 'term') {
    const parts = /^([^<>=:]+)(<=|>=|<|>|:)?(.*)$/.exec(value)
    if (!parts) return undefined
    const bound = parts[2] ? Number(parts[3]) : NaN
    if (parts[2] && Number.isNaN(bound)) return undefined
    return (rows) => {
      const term = rows.termNames.indexOf(parts[1])
      return (i) => {
        const x = rows.term(i, term)
        return x !== undefined && (!parts[2] || compare(x, parts[2], bound))
      }
    }
  }
  if (name === 'tool') {
    return (rows) => {
      const tools = matching(rows.tools, value)
      return (i) => rows.called[i].some((t) => tools[t])
    }
  }
  const column = { stage: 'stage', scenario: 'scenario', outcome: 'outcome', reason: 'stop' } as const
  if (name in column) {
    const c = column[name as keyof typeof column]
    return (rows) => {
      const list = { stage: rows.stages, scenario: rows.scenarios, outcome: rows.outcomes, stop: rows.stops }[c]
      const match = matching(list, value)
      const col = rows.cols[c]
      return (i) => match[col[i]]
    }
  }
  const bound = Number(value)
  if (!(amounts as readonly string[]).includes(name) || Number.isNaN(bound)) return undefined
  if (name === 'reward') return (rows) => (i) => rows.reward[i] !== null && compare(rows.reward[i]!, op, bound)
  return (rows) => {
    const col = rows.cols[name as 'step']
    return (i) => compare(col[i], op, bound)
  }
}

// matching are the names that are a value, or that begin with it where none is.
function matching(names: string[], value: string): boolean[] {
  const whole = names.includes(value)
  return names.map((n) => (whole ? n === value : n.includes(value)))
}

function compare(x: number, op: string, bound: number): boolean {
  switch (op) {
    case '<':
      return x < bound
    case '<=':
      return x <= bound
    case '>':
      return x > bound
    case '>=':
      return x >= bound
  }
  return x === bound
}

export type SortKey = 'order' | 'reward' | 'step' | 'turns' | 'calls' | 'errors' | 'tokens' | 'seconds' | 'scenario'

// select are the rows that a search lets through, sorted. found are those with its text, undefined where it has none.
export function select(rows: Rows, search: Search, found: number[] | undefined, sort: SortKey, down: boolean): Int32Array {
  const tests = search.tests.map((t) => t(rows))
  const out = new Int32Array(rows.length)
  let n = 0
  const take = (i: number) => {
    for (const t of tests) if (!t(i)) return
    out[n++] = i
  }
  if (found) {
    for (const i of found) if (i < rows.length) take(i)
  } else {
    for (let i = 0; i < rows.length; i++) take(i)
  }
  const list = out.subarray(0, n)
  if (sort === 'order') return down ? list.reverse() : list
  const sign = down ? -1 : 1
  if (sort === 'reward') {
    const key = rows.reward
    return list.sort((a, b) => sign * ((key[a] ?? -Infinity) - (key[b] ?? -Infinity)) || a - b)
  }
  if (sort === 'scenario') {
    const order = rows.scenarios.map((name, i) => [name, i] as const).sort((a, b) => (a[0] < b[0] ? -1 : 1))
    const rank = new Int32Array(order.length)
    order.forEach(([, i], at) => (rank[i] = at))
    const key = rows.cols.scenario
    return list.sort((a, b) => sign * (rank[key[a]] - rank[key[b]]) || a - b)
  }
  const key = rows.cols[sort]
  return list.sort((a, b) => sign * (key[a] - key[b]) || a - b)
}
