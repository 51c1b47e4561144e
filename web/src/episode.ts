// What the server says of one trajectory, and what of it is compared.
import type { Term } from './parts'

// Call is one of a turn, and Asked the same in a message.
export interface Call {
  ID: string
  Name: string
  Arguments: string
}

export interface Asked {
  id: string
  function: { name: string; arguments: string }
}

export interface Result {
  call: Call
  status: string
  text: string
  error?: string
  warning?: string
  approval?: string
  seconds: number
  structured_content?: unknown
  content?: unknown
}

export interface Turn {
  rewrite?: string
  policy_version: number
  forced?: boolean
  reasoning_content?: string
  content?: string
  calls?: Call[]
  parse_error?: string
  feedback?: string
  results?: Result[]
  sample_seconds: number
  initial_call?: { confidence: number }
}

export interface Message {
  role: string
  content: string | null
  reasoning_content?: string
  tool_calls?: Asked[]
  tool_call_id?: string
  name?: string
}

export interface Trajectory {
  id: string
  scenario_id: string
  split?: string
  attempt?: number
  adapter?: string
  rollout: number
  retries?: number
  temperature: number
  messages: Message[]
  opening?: number
  turns: Turn[] | null
  seen?: { look: string; status: string; text?: string }[]
  outcome: string
  stop_reason: string
  error?: string
  stderr?: Record<string, string>
  reward: number
  terms?: Term[]
  turn_rewards?: number[]
  seconds: number
  rating?: { score: number; note?: string }
  user?: { played: string; ended?: string; turns: number }
}

export interface Reason {
  pointer: string
  text: string
}

export interface Episode {
  name: string
  stage: string
  step: number
  scored: boolean
  trajectory: Trajectory
  verdicts: { check: string; passed: boolean; why?: string }[] | null
  problems: { turn: number; call: number; reasons: Reason[] }[]
  cut: number
}

// opening are the messages that an episode began with.
export function opening(t: Trajectory): Message[] {
  if (t.opening) return t.messages.slice(0, t.opening)
  const end = t.messages.findIndex((m) => m.role === 'assistant')
  return end < 0 ? t.messages : t.messages.slice(0, end)
}

// signature is a call without what does not count: its id, and the order of its arguments.
export function signature(c: Call): string {
  return c.Name + ' ' + canonical(c.Arguments)
}

function canonical(text: string): string {
  try {
    return JSON.stringify(sorted(JSON.parse(text)))
  } catch {
    return text
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, v]) => [k, sorted(v)]))
  return value
}

// usual is, of each turn, the call that most attempts make there; '' where no two make the same.
export function usual(attempts: Turn[][]): Set<string>[] {
  const turns = Math.max(0, ...attempts.map((a) => a.length))
  return Array.from({ length: turns }, (_, k) => {
    const times = new Map<string, number>()
    for (const a of attempts) for (const s of new Set((a[k]?.calls ?? []).map(signature))) times.set(s, (times.get(s) ?? 0) + 1)
    const most = Math.max(0, ...times.values())
    return new Set([...times].filter(([, n]) => n === most && n > attempts.length / 2).map(([s]) => s))
  })
}

export interface TokenRow {
  begins?: string
  ids: number[] | null
  texts: string[]
  turns: number[]
  sampled: boolean[]
  trained: boolean[]
  sampler: (number | null)[]
  advantage: number[]
  trainer?: (number | null)[]
  entropy?: (number | null)[]
}

export interface Tokens {
  rows: TokenRow[]
  note?: string
  learnt: string
  kept: boolean
}
