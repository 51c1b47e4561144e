// Questions to the server that the page comes from, or to the files beside it where it was opened from one.
import { useEffect, useState } from 'react'
import type { Params } from './place'

export interface Failure {
  what: string
  where?: string
  why?: string
  next?: string
}

declare global {
  interface Window {
    honeAnswers?: { put: (path: string, value: unknown) => void } // what the files of a bundle call
  }
}

// A report has the answers in itself, as elements that name their questions.
const inside = new Map([...document.querySelectorAll<HTMLElement>('script[data-question]')].map((el) => [el.dataset.question!, el]))

export const bundled = location.protocol === 'file:' || inside.size > 0

export function pathOf(question: string, params: Params): string {
  const query = new URLSearchParams()
  for (const name of Object.keys(params).sort()) {
    const value = params[name]
    if (value !== undefined && value !== null && value !== '') query.set(name, String(value))
  }
  const text = query.toString()
  return text ? `${question}?${text}` : question
}

export async function ask<T>(question: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
  const path = pathOf(question, params)
  if (bundled) return (await fromFile(question, params)) as T
  let answer: Response
  try {
    answer = await fetch('api/' + path, { signal })
  } catch (err) {
    if ((err as Error).name === 'AbortError') throw err
    throw { what: 'hone view does not answer', next: 'start it again, and open the address that it prints' } satisfies Failure
  }
  return read<T>(answer)
}

export async function send<T>(question: string, params: Params, body: unknown): Promise<T> {
  if (bundled) throw { what: 'these are files, and nothing can be changed in them', next: 'hone view RUN, on the machine that has the run' } satisfies Failure
  return read<T>(await fetch('api/' + pathOf(question, params), { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }))
}

async function read<T>(answer: Response): Promise<T> {
  const text = await answer.text()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = { what: text.trim() || `the server answers ${answer.status}` }
  }
  if (!answer.ok) throw value as Failure
  return value as T
}

// Files of a bundle are scripts that call honeAnswers.put, since a page from a file may not fetch. Each is loaded once. Most questions
// have a file that data/index.js names; those of trajectories have one by their hash.
const answers = new Map<string, unknown>()
const files = new Map<string, Promise<void>>()

interface Chunked {
  run: string
  folder: string
  num: number
}

async function fromFile(question: string, params: Params): Promise<unknown> {
  const left = question === 'series' ? ['names'] : question === 'episode' ? ['whole'] : [] // all of them are there, or none
  const names = Object.keys(params).filter((n) => !left.includes(n)).sort()
  const key = names.length ? question + '?' + names.map((n) => `${n}=${params[n] ?? ''}`).join('&') : question
  if (!answers.has(key) && inside.has(key)) answers.set(key, JSON.parse(inside.get(key)!.textContent!))
  if (!answers.has(key) && inside.size === 0) {
    window.honeAnswers ??= { put: (key, value) => void answers.set(key, value) }
    await load('data/index.js')
    const named = (answers.get('files') as Record<string, string>)[key]
    const chunks = (answers.get('chunks') as Chunked[] | null)?.find((c) => c.run === params.run)
    if (named) await load(named)
    else if (chunks) await load(`${chunks.folder}/c${hash(key) % chunks.num}.js`)
  }
  if (!answers.has(key)) throw { what: inside.size > 0 ? 'this file has no room for that' : 'these files do not hold that', next: `hone view ${params.run ?? 'RUN'} shows all of it` } satisfies Failure
  return answers.get(key)
}

// hash is FNV-1a of 32 bits over the text in UTF-8, as bundle.go has it.
function hash(text: string): number {
  let h = 0x811c9dc5
  for (const byte of new TextEncoder().encode(text)) h = Math.imul(h ^ byte, 0x01000193) >>> 0
  return h
}

function load(file: string): Promise<void> {
  let loading = files.get(file)
  if (!loading) {
    loading = new Promise((done, failed) => {
      const script = document.createElement('script')
      script.src = file
      script.onload = () => done()
      script.onerror = () => failed({ what: `the file ${file} is not there` } satisfies Failure)
      document.head.append(script)
    })
    files.set(file, loading)
  }
  return loading
}

export interface Answer<T> {
  value?: T
  failure?: Failure
  loading: boolean
}

// useAnswer asks again when the question or the version changes, and shows the former answer meanwhile where the question is the same.
export function useAnswer<T>(question: string, params: Params, version = 0): Answer<T> {
  const path = question && pathOf(question, params)
  const [state, set] = useState<Answer<T> & { path: string }>({ path: '', loading: true })
  useEffect(() => {
    if (!path) return
    const stop = new AbortController()
    set((old) => (old.path === path ? { ...old, loading: true } : { path, loading: true }))
    ask<T>(question, params, stop.signal).then(
      (value) => set({ path, value, loading: false }),
      (failure) => {
        if (failure?.name !== 'AbortError') set((old) => ({ path, value: old.path === path ? old.value : undefined, failure: failureOf(failure), loading: false }))
      },
    )
    return () => stop.abort()
  }, [path, version])
  return state.path === path ? state : { loading: true }
}

// useFetched is useAnswer for what takes several questions: key says what is asked.
export function useFetched<T>(key: string, version: number, fetched: () => Promise<T>): Answer<T> {
  const [state, set] = useState<Answer<T> & { key: string }>({ key: '', loading: true })
  useEffect(() => {
    let gone = false
    set((old) => (old.key === key ? { ...old, loading: true } : { key, loading: true }))
    fetched().then(
      (value) => gone || set({ key, value, loading: false }),
      (failure) => gone || set((old) => ({ key, value: old.key === key ? old.value : undefined, failure: failureOf(failure), loading: false })),
    )
    return () => void (gone = true)
  }, [key, version])
  return state.key === key ? state : { loading: true }
}

export function failureOf(err: unknown): Failure {
  if (err && typeof err === 'object' && 'what' in err) return err as Failure
  return { what: String((err as Error)?.message ?? err) }
}
