import { useEffect, useMemo, useState, type ReactNode } from 'react'
import { ask, bundled, failureOf, useAnswer, type Failure } from '../ask'
import { Arguments } from '../arguments'
import { opening, type Episode, type Message, type Tokens, type Turn } from '../episode'
import { parse, select, type SortKey } from '../filter'
import { Block, Problem, TermLegend, Terms, Text, useKeys, Waits } from '../parts'
import { change, go, href, type Place } from '../place'
import type { Followed } from '../rows'
import { bytes, count, duration, number, visible, words } from '../words'
import { TokenView } from './tokens'
import { Mark } from './trajectories'

export function Trajectory({ place, followed }: { place: Place; followed: Followed }) {
  const id = place.params.get('id') ?? ''
  const [whole, setWhole] = useState(false)
  useEffect(() => setWhole(false), [id])
  const answer = useAnswer<Episode>('episode', { run: place.run, id, whole: whole ? 1 : '' })
  const tab = place.params.get('show') ?? 'chat'
  const { rows } = followed
  const around = useMemo(() => neighbours(place, followed, id), [rows, rows.version, place.params, id])
  const open = (other: string | undefined) => other && go(href(place.run, 'trajectory', { ...Object.fromEntries(place.params), id: other, turn: '', token: '' }), true)
  useKeys({ n: () => open(around.next), p: () => open(around.before), t: () => change(place, { show: tab === 'tokens' ? '' : 'tokens' }), u: () => around.list && go(around.list) })
  return (
    <>
      <div className="bar">
        <a href={around.list}>&larr; trajectories</a>
        <button disabled={!around.before} onClick={() => open(around.before)}>Previous <kbd>p</kbd></button>
        <button disabled={!around.next} onClick={() => open(around.next)}>Next <kbd>n</kbd></button>
        {around.at >= 0 && <span className="quiet">{(around.at + 1).toLocaleString('en')} of {around.of.toLocaleString('en')}</span>}
      </div>
      <Waits of={answer}>
        {(e) => (
          <>
            <Head e={e} place={place} short={tab !== 'chat'} />
            {e.cut > 0 && (
              <p className="says">
                {bytes(e.cut)} of long texts are not shown here. {bundled ? 'hone view RUN shows them.' : <button className="link" onClick={() => setWhole(true)}>Show all of them</button>}
              </p>
            )}
            <div className="tabs">
              {[['chat', 'Conversation'], ['tokens', 'Tokens'], ['raw', 'Raw']].map(([key, name]) => (
                <button key={key} aria-pressed={tab === key} onClick={() => change(place, { show: key === 'chat' ? '' : key })}>{name}</button>
              ))}
            </div>
            {tab === 'tokens' ? <TokenView place={place} id={id} /> : tab === 'raw' ? <Block className="raw">{JSON.stringify(e.trajectory, null, 2)}</Block> : <Chat e={e} place={place} />}
          </>
        )}
      </Waits>
    </>
  )
}

// neighbours are the trajectories before and behind this one in the list that it was opened from.
function neighbours(place: Place, followed: Followed, id: string) {
  const q = place.params.get('q') ?? ''
  const sort = (place.params.get('sort') ?? 'order') as SortKey
  const down = place.params.get('down') === '1'
  const { rows } = followed
  const search = parse(q)
  const list = select(rows, { ...search, text: '' }, undefined, sort, down)
  let at = -1
  for (let i = 0; i < list.length && at < 0; i++) if (rows.id(list[i]) === id) at = i
  return {
    at,
    of: list.length,
    before: at > 0 ? rows.id(list[at - 1]) : undefined,
    next: at >= 0 && at + 1 < list.length ? rows.id(list[at + 1]) : undefined,
    list: href(place.run, 'trajectories', { q, sort: sort === 'order' ? '' : sort, down: down ? 1 : '', at: at >= 0 ? at : '' }),
  }
}

function Head({ e, place, short }: { e: Episode; place: Place; short: boolean }) {
  const t = e.trajectory
  const checks = t.terms?.find((x) => x.name === 'checks')
  const names = (t.terms ?? []).map((x) => x.name)
  const facts: [string, string][] = [
    ['outcome', `${words(t.outcome)} (${words(t.stop_reason)})`], ['time', duration(t.seconds)], ['temperature', number(t.temperature)], ['split', t.split ?? ''],
    ['attempt of the run', t.attempt ? String(t.attempt) : ''], ['tries before', t.retries ? String(t.retries) : ''], ['adapter', t.adapter?.slice(0, 12) ?? ''],
    ['user', t.user ? `${t.user.played}, ended by ${t.user.ended || 'no one'}` : ''], ['rating', t.rating ? `${number(t.rating.score)} ${t.rating.note ?? ''}` : ''],
  ]
  return (
    <section aria-label="What came of it">
      <h2 className="task"><Mark passed={checks ? (checks.score >= 1 ? 1 : 0) : 2} outcome={t.outcome} /> <Text>{e.name}</Text></h2>
      <p className="quiet">
        {e.stage && <>stage <Text>{e.stage}</Text>, step {e.step}, </>}scenario <a href={href(place.run, 'trajectories', { q: 'scenario:' + t.scenario_id })}><Text>{t.scenario_id}</Text></a>{' '}
        &middot; <a href={href(place.run, 'groups', { stage: e.stage, step: e.step, scenario: t.scenario_id })}>its group</a>
      </p>
      {t.error && <p className="problem"><Text>{t.error}</Text></p>}
      {short ? <p>Reward {e.scored ? number(t.reward) : 'not yet'}, {words(t.outcome)} ({words(t.stop_reason)}), {duration(t.seconds)}</p> : <div className="pair">
        <div>
          <h2>Reward {e.scored ? number(t.reward) : 'not yet'}</h2>
          <TermLegend names={names} />
          <Terms terms={t.terms ?? []} names={names} span={Math.max(0.001, (t.terms ?? []).reduce((s, x) => s + Math.max(0, x.score * x.weight), 0))} />
          <div className="scroll">
            <table>
              <thead><tr><th>term</th><th className="n">score</th><th className="n">weight</th><th className="n">earned</th><th>why</th></tr></thead>
              <tbody>
                {(t.terms ?? []).map((x) => (
                  <tr key={x.name}>
                    <td><Text>{x.name}</Text></td>
                    <td className="n">{number(x.score)}</td>
                    <td className="n">{number(x.weight)}</td>
                    <td className="n">{number(x.score * x.weight)}</td>
                    <td className="why-cell">
                      <Text>{x.why}</Text>
                      {x.judgement && <span className="quiet"> <Text>{x.judgement.model}</Text>{x.judgement.samples ? `, ${x.judgement.samples.map((s) => number(s)).join(', ')}` : ''}</span>}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </div>
        <div>
          <h2>Checks</h2>
          {e.verdicts === null ? <p className="quiet">It has not been judged by checks.</p> : e.verdicts.length === 0 ? <p>All passed.</p> : (
            <ul className="checks">
              {e.verdicts.map((v, i) => (
                <li key={i}><span className={'mark ' + (v.passed ? 'good' : 'poor')} role="img" aria-label={v.passed ? 'passed' : 'failed'}>{v.passed ? '\u2713' : '\u2717'}</span> <Text>{v.check}</Text>{v.why && <p className="wrong"><Text>{v.why}</Text></p>}</li>
              ))}
            </ul>
          )}
          <dl className="facts">
            {facts.filter(([, v]) => v).map(([name, value]) => <div key={name}><dt>{name}</dt><dd><Text>{value}</Text></dd></div>)}
          </dl>
        </div>
      </div>}
    </section>
  )
}

function Chat({ e, place }: { e: Episode; place: Place }) {
  const t = e.trajectory
  const turns = t.turns ?? []
  const [raw, setRaw] = useState<{ texts: string[]; failure?: Failure } | undefined>()
  const at = place.params.get('turn')
  useEffect(() => {
    if (at !== null) document.getElementById('turn-' + at)?.scrollIntoView({ block: 'start' })
  }, [at, e])
  const written = async () => {
    try {
      setRaw({ texts: writtenOf(await ask<Tokens>('tokens', { run: place.run, id: e.name }), turns.length) })
    } catch (err) {
      setRaw({ texts: [], failure: failureOf(err) })
    }
  }
  return (
    <section aria-label="Conversation" className="chat">
      <div className="bar">
        {raw && !raw.failure ? <button onClick={() => setRaw(undefined)}>Hide what was sampled</button> : <button onClick={written} >Show what was sampled, as it was written</button>}
      </div>
      {raw?.failure && <Problem failure={raw.failure} />}
      {opening(t).map((m, i) => <Opening key={i} m={m} />)}
      {turns.map((turn, k) => (
        <TurnView key={k} e={e} turn={turn} k={k} here={String(k) === at} raw={raw?.texts[k]} title={<a href={href(place.run, 'trajectory', { ...Object.fromEntries(place.params), turn: k })}>turn {k}</a>}>
          {!bundled && <a className="button" href={href(place.run, 'playground', { id: e.name, turn: k })}>Go on from here</a>}
        </TurnView>
      ))}
      {!bundled && turns.length > 0 && <p><a className="button" href={href(place.run, 'playground', { id: e.name, turn: turns.length })}>Go on behind the last turn</a></p>}
      {turns.length === 0 && t.messages.filter((m) => m.role === 'assistant' || m.role === 'tool').map((m, i) => <article key={i} className={'message ' + m.role}><h3>{m.role}</h3><Block>{m.content}</Block></article>)}
      {(t.seen ?? []).length > 0 && (
        <details><summary>What checks saw of the world ({t.seen!.length})</summary>{t.seen!.map((s, i) => <div key={i}><p className="quiet"><Text>{s.look}</Text>: {words(s.status)}</p><Block>{s.text}</Block></div>)}</details>
      )}
      {Object.entries(t.stderr ?? {}).map(([server, text]) => <details key={server}><summary>What server <Text>{server}</Text> wrote to stderr</summary><Block>{text}</Block></details>)}
    </section>
  )
}

// writtenOf are the sampled tokens of each turn as one text.
function writtenOf(tokens: Tokens, turns: number): string[] {
  const out: string[] = new Array(turns).fill('')
  for (const row of tokens.rows) row.sampled.forEach((yes, i) => yes && (out[row.turns[i]] += row.texts[i]))
  return out
}

// Opening is a message that the trajectory began with.
export function Opening({ m }: { m: Message }) {
  const long = m.role === 'system' && (m.content ?? '').length > 600
  return (
    <article className={'message ' + m.role}>
      <h3>{m.role}</h3>
      {long ? <details><summary>{count((m.content ?? '').length, 'character')}</summary><Block>{m.content}</Block></details> : <Block>{m.content}</Block>}
    </article>
  )
}

export function TurnView({ e, turn, k, title, here, raw, waits, children }: { e: Episode; turn: Turn; k: number; title: ReactNode; here?: boolean; raw?: string; waits?: boolean; children?: ReactNode }) {
  const earned = e.trajectory.turn_rewards?.[k]
  const users = followUps(e)[k] ?? []
  return (
    <article id={'turn-' + k} className={'message assistant' + (here ? ' here' : '')}>
      <h3>
        {title}
        <span className="quiet">
          {' '}policy {turn.policy_version} &middot; sampled in {duration(turn.sample_seconds)}
          {turn.forced && ' \u00b7 forced'}{earned !== undefined && ` \u00b7 earned ${number(earned)}`}{turn.initial_call && ` \u00b7 a small model's call, confidence ${number(turn.initial_call.confidence)}`}
        </span>
        {children}
      </h3>
      {turn.rewrite && <p className="quiet">A new training row begins: <Text>{turn.rewrite}</Text></p>}
      {raw !== undefined && <div className="raw-turn"><h4>as sampled</h4><Block className="small">{raw}</Block></div>}
      {turn.reasoning_content && <details open={turn.reasoning_content.length < 600}><summary>thinks</summary><Block>{turn.reasoning_content}</Block></details>}
      {turn.content && <Block>{turn.content}</Block>}
      {turn.parse_error && <p className="wrong">The text holds no whole call: <Text>{turn.parse_error}</Text></p>}
      {turn.feedback && <p className="quiet">It was told: <Text>{turn.feedback}</Text></p>}
      {(turn.calls ?? []).map((c, i) => {
        const r = turn.results?.[i]
        const reasons = e.problems.find((p) => p.turn === k && p.call === i)?.reasons ?? []
        return (
          <div key={i} className="paired">
            <div className="call">
              <div className="call-head"><span className="quiet">calls</span> <Text className="tool">{c.Name}</Text></div>
              <Arguments text={c.Arguments} reasons={reasons} />
            </div>
            <div className={'answer ' + (r?.status ?? '')}>
              {r ? (
                <>
                  <div className="call-head">
                    <span className={'status ' + r.status}>{words(r.status)}</span>
                    <span className="quiet">in {duration(r.seconds)}{r.approval && `, ${visible(r.approval)}`}</span>
                  </div>
                  {r.error && <p className="wrong"><Text>{r.error}</Text></p>}
                  {r.warning && <p className="wrong"><Text>{r.warning}</Text></p>}
                  <Block className="result">{r.text}</Block>
                  {r.structured_content !== undefined && <details><summary>structured content</summary><Block>{JSON.stringify(r.structured_content, null, 2)}</Block></details>}
                </>
              ) : <p className="quiet">{waits ? 'It has not been made yet.' : 'No answer is recorded.'}</p>}
            </div>
          </div>
        )
      })}
      {users.map((text, i) => <div key={i} className="said"><h4>user</h4><Block>{text}</Block></div>)}
    </article>
  )
}

// followUps are what the user said behind each turn.
function followUps(e: Episode): string[][] {
  const out: string[][] = []
  let turn = -1
  for (const m of e.trajectory.messages.slice(opening(e.trajectory).length)) {
    if (m.role === 'assistant') turn++
    else if (m.role === 'user' && turn >= 0) (out[turn] ??= []).push(m.content ?? '')
  }
  return out
}
