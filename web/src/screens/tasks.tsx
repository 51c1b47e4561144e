import { useMemo, useState } from 'react'
import { useAnswer } from '../ask'
import { Block, Empty, Text, useKeys, VirtualList, Waits } from '../parts'
import { change, href, type Place } from '../place'
import { count, number, percent, visible, words } from '../words'

interface Gold { name: string; arguments: unknown; asks?: string }
interface Task {
  id: string
  task?: string
  asks: string
  split: string
  difficulty?: string
  tags?: string[]
  gold?: Gold[]
  gold_answer?: string
  setup?: Gold[]
  checks?: Record<string, unknown>[]
  needs: string[]
  kind: string
  attempts: number
  passed: number
  provenance?: { by: string; version?: string; kind?: string; wording?: string; teacher?: string; quality?: number; proof?: string[]; seed?: number; servers?: Record<string, string>; reference?: { by: string; runs: number; passed: number } }
}
interface Cover { name: string; tasks: number; made: number }
interface TasksOf { tasks: Task[]; tools: Cover[]; kinds: Cover[] }

export function Tasks({ place, version }: { place: Place; version: number }) {
  const answer = useAnswer<TasksOf>('tasks', { run: place.run }, version)
  return <Waits of={answer}>{(t) => <List all={t} place={place} />}</Waits>
}

function List({ all, place }: { all: TasksOf; place: Place }) {
  const q = place.params.get('q') ?? ''
  const [typed, type] = useState(q)
  const list = useMemo(() => {
    const parts = q.toLowerCase().split(/\s+/).filter(Boolean)
    return all.tasks.filter((t) => parts.every((w) => `${t.id} ${t.asks} ${t.needs.join(' ')} ${t.kind} ${t.split} ${(t.tags ?? []).join(' ')}`.toLowerCase().includes(w)))
  }, [all, q])
  const id = place.params.get('task') ?? list[0]?.id
  const at = list.findIndex((t) => t.id === id)
  const choose = (i: number) => list[i] && change(place, { task: list[i].id })
  useKeys({ j: () => choose(Math.min(list.length - 1, at + 1)), k: () => choose(Math.max(0, at - 1)), '/': () => document.getElementById('tasks-search')?.focus() })
  if (all.tasks.length === 0) return <Empty>This run keeps no tasks. Runs of <code>hone train</code>, <code>eval</code> and <code>demo</code> do.</Empty>
  const set = (text: string) => {
    type(text)
    change(place, { q: text, task: '' })
  }
  return (
    <div className="split">
      <div className="side">
        <label><span className="hide">Search tasks</span><input id="tasks-search" type="search" placeholder="words of a task, tool, kind, split" value={typed} onChange={(e) => set(e.target.value)} /></label>
        <p className="quiet">{count(list.length, 'task')} of {all.tasks.length}</p>
        <VirtualList count={list.length} height={46} at={at} label="Tasks">
          {(i) => {
            const t = list[i]
            return (
              <a key={t.id} className={'entry' + (i === at ? ' here' : '')} href={href(place.run, 'tasks', { ...Object.fromEntries(place.params), task: t.id })} aria-current={i === at ? 'true' : undefined}>
                <Text className="clip">{t.asks || t.id}</Text>
                <span className="quiet">{t.split} &middot; {t.kind || 'maker not recorded'}{t.attempts > 0 && ` \u00b7 ${t.passed} of ${t.attempts} pass`}</span>
              </a>
            )
          }}
        </VirtualList>
      </div>
      <div className="main">
        {at >= 0 ? <One t={list[at]} place={place} /> : <Empty>No task is like that. Take a word away.</Empty>}
        <h2>Coverage</h2>
        <div className="pair">
          <Covers title="tool" list={all.tools} total={all.tasks.length} set={set} />
          <Covers title="kind" list={all.kinds} total={all.tasks.length} set={set} />
        </div>
      </div>
    </div>
  )
}

function Covers({ title, list, total, set }: { title: string; list: Cover[]; total: number; set: (q: string) => void }) {
  return (
    <div className="scroll">
      <table>
        <thead><tr><th>{title}</th><th className="n">tasks</th><th className="n">made</th><th className="n">share</th></tr></thead>
        <tbody>
          {list.map((c) => (
            <tr key={c.name}>
              <td><button className="link" onClick={() => set(c.name)}><Text>{c.name}</Text></button></td>
              <td className="n">{c.tasks}</td><td className="n">{c.made}</td><td className="n">{percent(c.tasks / total)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function One({ t, place }: { t: Task; place: Place }) {
  const p = t.provenance
  const facts: [string, string][] = [
    ['split', t.split], ['difficulty', t.difficulty ?? ''], ['tags', (t.tags ?? []).join(', ')], ['made by', p ? `${p.by} ${p.version ?? ''}` : 'not recorded, as of tasks that people wrote'], ['kind', p?.kind ?? ''],
    ['wording', p?.wording ?? ''], ['teacher', p?.teacher ?? ''], ['quality', p?.quality ? `${number(p.quality)} of 10` : ''],
    ['reference agent', p?.reference ? `${p.reference.by}: ${p.reference.passed} of ${p.reference.runs} pass` : ''], ['servers', Object.entries(p?.servers ?? {}).map(([s, v]) => `${s} ${v}`).join(', ')],
    ['proved by plays', (p?.proof ?? []).join(', ')],
  ]
  return (
    <>
      <h2 className="task"><Text>{t.asks || t.id}</Text></h2>
      <p className="quiet"><Text>{t.id}</Text>{t.attempts > 0 && <> &middot; <a href={href(place.run, 'trajectories', { q: 'scenario:' + t.id })}>{count(t.attempts, 'attempt')}, {percent(t.passed / t.attempts)} pass</a></>}</p>
      <dl className="facts">{facts.filter(([, v]) => v).map(([n, v]) => <div key={n}><dt>{n}</dt><dd><Text>{v}</Text></dd></div>)}</dl>
      {(t.setup ?? []).length > 0 && <><h2>Set up</h2>{t.setup!.map((g, i) => <GoldCall key={i} g={g} />)}</>}
      {(t.gold ?? []).length > 0 && <><h2>Known good calls</h2>{t.gold!.map((g, i) => <GoldCall key={i} g={g} />)}</>}
      {t.gold_answer && <><h2>Known good answer</h2><Block>{t.gold_answer}</Block></>}
      <h2>Checks</h2>
      {(t.checks ?? []).length === 0 ? <p className="quiet">It has none: only a judge can score it.</p> : <ul className="checks">{t.checks!.map((c, i) => <li key={i}><b>{words(String(c.type))}</b> <Text className="args">{JSON.stringify(Object.fromEntries(Object.entries(c).filter(([k]) => k !== 'type')))}</Text></li>)}</ul>}
    </>
  )
}

function GoldCall({ g }: { g: Gold }) {
  return (
    <div className="call">
      <div className="call-head"><Text className="tool">{g.name}</Text>{g.asks && <span className="quiet">said before: {visible(g.asks)}</span>}</div>
      <Block className="small args">{JSON.stringify(g.arguments, null, 2)}</Block>
    </div>
  )
}
