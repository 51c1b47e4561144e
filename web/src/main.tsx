import { Component, useEffect, useState, type ReactNode } from 'react'
import { createRoot } from 'react-dom/client'
import { bundled, useAnswer } from './ask'
import { Keys, Problem, useKeys } from './parts'
import { go, href, usePlace, type Place } from './place'
import { useRows } from './rows'
import { Compare } from './screens/compare'
import { Curate, keys as curateKeys } from './screens/curate'
import { Evaluation } from './screens/evaluation'
import { Groups } from './screens/groups'
import { Overview } from './screens/overview'
import { Playground, keys as playgroundKeys } from './screens/playground'
import { Runs, type Listed } from './screens/runs'
import { Servers } from './screens/servers'
import { Tasks, keys as tasksKeys } from './screens/tasks'
import { Trajectories } from './screens/trajectories'
import { Trajectory } from './screens/trajectory'
import { visible } from './words'
import './style.css'

const screens = [
  ['overview', 'Overview'], ['groups', 'Groups'], ['trajectories', 'Trajectories'], ['tasks', 'Tasks'], ['evaluation', 'Evaluation'], ['curate', 'Curate'], ['servers', 'Servers'], ['playground', 'Playground'],
] as const

const keysOf: Record<string, [string, string][]> = {
  overview: [['g', 'groups'], ['t', 'trajectories']],
  groups: [['j k', 'next group, group before'], ['[ ]', 'step before, next step']],
  trajectories: [['/', 'search'], ['j k', 'next, before'], ['Enter', 'open']],
  trajectory: [['n p', 'next, before'], ['t', 'conversation or tokens'], ['u', 'back to the list'], ['\u2190 \u2192', 'token before, next token'], ['1 6', 'colour of the tokens']],
  tasks: tasksKeys,
  curate: curateKeys,
  playground: playgroundKeys,
}

type Theme = 'auto' | 'light' | 'dark'

function useTheme(): [Theme, () => void] {
  const [theme, set] = useState<Theme>(() => {
    try {
      return (localStorage.getItem('theme') as Theme) || 'auto'
    } catch {
      return 'auto' // files may have no storage
    }
  })
  useEffect(() => {
    document.documentElement.dataset.theme = theme
    try {
      localStorage.setItem('theme', theme)
    } catch {
      // it is as it is until the page is left
    }
  }, [theme])
  return [theme, () => set(theme === 'auto' ? 'light' : theme === 'light' ? 'dark' : 'auto')]
}

function App() {
  const place = usePlace()
  const [theme, turn] = useTheme()
  const [help, setHelp] = useState(false)
  useKeys({ '?': () => setHelp(true) })
  useEffect(() => {
    document.title = place.run ? `${place.run}, ${place.screen} - hone` : 'runs - hone'
  }, [place.run, place.screen])
  const [asked, again] = useState(0)
  const runs = useAnswer<Listed[]>('runs', {}, asked)
  const unknown = Boolean(place.run && runs.value && !runs.value.some((r) => r.key === place.run))
  useEffect(() => {
    if (unknown) again((n) => n + 1) // a run that came since
  }, [unknown, place.run])
  const onlyTasks = runs.value?.find((r) => r.key === place.run)?.tasks
  const tab = place.screen === 'trajectory' ? 'trajectories' : place.screen
  return (
    <>
      <a className="skip" href="#content" onClick={(e) => { e.preventDefault(); document.getElementById('content')?.focus() }}>Skip to the content</a>
      <header>
        <a className="brand" href="#/">hone</a>
        {place.run && (runs.value && runs.value.length > 1 ? (
          <label><span className="hide">Run</span><select value={place.run} onChange={(e) => go(href(e.target.value, runs.value!.find((r) => r.key === e.target.value)?.tasks ? 'tasks' : tab))}>{runs.value.map((r) => <option key={r.key} value={r.key}>{visible(r.key)}</option>)}</select></label>
        ) : <span className="run-name">{visible(place.run)}</span>)}
        {place.run && (
          <nav aria-label="Screens">
            {screens.filter(([key]) => (!bundled || (key !== 'curate' && key !== 'playground')) && (!onlyTasks || key === 'tasks')).map(([key, name]) => <a key={key} href={href(place.run, key)} aria-current={tab === key ? 'page' : undefined}>{name}</a>)}
          </nav>
        )}
        <span className="grow" />
        <button onClick={() => setHelp(true)} aria-label="Keys">?</button>
        <button onClick={turn}>{theme === 'auto' ? 'Light or dark: as the system' : theme === 'light' ? 'Light' : 'Dark'}</button>
      </header>
      <main id="content" tabIndex={-1}>
        <h1 className="hide">{place.run ? (screens.find(([key]) => key === tab)?.[1] ?? 'Run') : 'Runs'}</h1>
        <Boundary key={place.run + place.screen}>{place.run ? (onlyTasks ? <Tasks place={place} version={0} /> : <OfRun place={place} key={place.run} />) : place.screen === 'compare' ? <Compare place={place} /> : <Runs version={0} />}</Boundary>
      </main>
      {help && <Keys keys={[...(keysOf[place.screen] ?? []), ...(place.screen === 'curate' || place.screen === 'tasks' ? [] : ([['?', 'these keys']] as [string, string][]))]} onClose={() => setHelp(false)} />}
    </>
  )
}

function OfRun({ place }: { place: Place }) {
  const followed = useRows(place.run, place.screen === 'overview' ? 1000 : 0)
  return (
    <>
      {followed.trouble && <p className="problem" role="alert">{visible(followed.trouble)}</p>}
      {followed.rows.bad.size > 0 && (
        <p className="problem" role="alert">
          {followed.rows.bad.size === 1 ? 'A row' : `${followed.rows.bad.size} rows`} of the ledger cannot be read; the rest is here. <a href={href(place.run, 'trajectories', { q: 'bad:yes' })}>Show which</a>
        </p>
      )}
      {bundled && followed.rows.whole && followed.rows.length < followed.rows.total && ['groups', 'trajectories'].includes(place.screen) && (
        <p className="says">This file holds {followed.rows.length.toLocaleString('en')} of {followed.rows.total.toLocaleString('en')} trajectories: evaluated ones, the worst and the best groups, and others from the beginning. <code>hone view {visible(place.run)}</code> shows all.</p>
      )}
      {screen(place, followed)}
    </>
  )
}

function screen(place: Place, followed: ReturnType<typeof useRows>): ReactNode {
  switch (place.screen) {
    case 'overview':
      return <Overview place={place} version={followed.reading ? 0 : followed.version} />
    case 'groups':
      return <Groups place={place} followed={followed} />
    case 'trajectories':
      return <Trajectories place={place} followed={followed} />
    case 'trajectory':
      return <Trajectory place={place} followed={followed} />
    case 'tasks':
      return <Tasks place={place} version={followed.reading ? 0 : followed.rows.version} />
    case 'evaluation':
      return <Evaluation place={place} version={followed.reading ? 0 : followed.version} />
    case 'curate':
      return <Curate place={place} />
    case 'playground':
      return <Playground place={place} />
    case 'servers':
      return <Servers place={place} version={followed.reading ? 0 : followed.rows.version} />
  }
  return <Problem failure={{ what: `there is no screen ${place.screen}`, next: 'choose one above' }} />
}

// Boundary says what went wrong in a screen, and leaves the others.
class Boundary extends Component<{ children: ReactNode }, { failed?: Error }> {
  state: { failed?: Error } = {}
  static getDerivedStateFromError(failed: Error) {
    return { failed }
  }
  render() {
    if (!this.state.failed) return this.props.children
    return (
      <>
        <Problem failure={{ what: 'this screen failed', why: String(this.state.failed.message), next: 'load the page again; the run is as it was' }} />
        <button onClick={() => go('#/')}>All runs</button>
      </>
    )
  }
}

// A report opens where it has most to say.
const { start } = document.documentElement.dataset
if (start && !location.hash) history.replaceState(null, '', start)

createRoot(document.getElementById('page')!).render(<App />)
