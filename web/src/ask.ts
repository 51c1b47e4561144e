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

export const bundled = location.protocol === 'file:'

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
  if (bundled) return (await fromFile(path)) as T
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

// Files of a bundle are scripts that call honeAnswers.put, since a page from a file may not fetch. Each is loaded once.
const answers = new Map<string, unknown>()
const files = new Map<string, Promise<void>>()

async function fromFile(path: string): Promise<unknown> {
  window.honeAnswers ??= { put: (key, value) => void answers.set(key, value) }
  if (!answers.has(path)) {
    await load('data/index.js')
    const file = (answers.get('files') as Record<string, string> | undefined)?.[path]
    if (file) await load(file)
  }
  if (!answers.has(path)) throw { what: 'these files do not hold that', next: 'hone view RUN shows all of it' } satisfies Failure
  return answers.get(path)
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

export function failureOf(err: unknown): Failure {
  if (err && typeof err === 'object' && 'what' in err) return err as Failure
  return { what: String((err as Error)?.message ?? err) }
}
