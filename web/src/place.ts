// Where a person is: a run, a screen, and what is chosen there. All of it stands behind the # of the address, so that a link opens there.
import { useSyncExternalStore } from 'react'

export interface Place {
  run: string // '' is the list of runs
  screen: string
  params: URLSearchParams
}

export function parsePlace(hash: string): Place {
  const [path, query] = hash.replace(/^#\/?/, '').split('?', 2)
  const [run = '', screen = ''] = path.split('/').map(decode)
  return { run, screen: screen || 'overview', params: new URLSearchParams(query ?? '') }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // a link that was cut
  }
}

export type Params = Record<string, string | number | undefined | null>

export function href(run: string, screen: string, params: Params = {}): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== '') query.set(name, String(value))
  }
  const text = query.toString()
  return `#/${encodeURIComponent(run)}${run || screen ? '/' + screen : ''}${text ? '?' + text : ''}`
}

// go opens a place; instead takes the place of this one in the browser's history, as for what is chosen within a screen.
export function go(to: string, instead = false) {
  if (to === location.hash) return
  if (instead) {
    history.replaceState(null, '', to)
    window.dispatchEvent(new HashChangeEvent('hashchange'))
  } else {
    location.hash = to
  }
}

// change sets parameters of the place, and leaves the others.
export function change(place: Place, params: Params, instead = true) {
  const all: Params = Object.fromEntries(place.params)
  go(href(place.run, place.screen, { ...all, ...params }), instead)
}

let last = ''
let place = parsePlace('')

function current(): Place {
  if (location.hash !== last || last === '') {
    last = location.hash
    place = parsePlace(last)
  }
  return place
}

function follow(told: () => void) {
  window.addEventListener('hashchange', told)
  return () => window.removeEventListener('hashchange', told)
}

export function usePlace(): Place {
  return useSyncExternalStore(follow, current)
}
