// Plots over steps, by uPlot: linked cursors, and marks for checkpoints, restarts and evaluations.
import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { number } from './words'

export interface Line {
  name: string
  steps: number[]
  values: (number | null)[]
  tone: number
}

export interface Mark {
  step: number
  kind: 'checkpoint' | 'restart' | 'evaluation'
}

// whole are distances of marks on an axis of steps.
const whole = [1, 2, 5].flatMap((x) => [0, 1, 2, 3, 4, 5, 6].map((e) => x * 10 ** e)).sort((a, b) => a - b)

const link = uPlot.sync('steps')

export function Plot({ title, lines, marks = [], share, onStep }: { title: string; lines: Line[]; marks?: Mark[]; share?: boolean; onStep?: (step: number) => void }) {
  const box = useRef<HTMLDivElement>(null)
  const step = useRef(onStep)
  step.current = onStep
  useEffect(() => {
    const el = box.current!
    const style = getComputedStyle(el)
    const colour = (name: string) => style.getPropertyValue(name).trim()
    const all = [...new Set(lines.flatMap((l) => l.steps))].sort((a, b) => a - b)
    const at = new Map(all.map((s, i) => [s, i]))
    const columns = lines.map((l) => {
      const out: (number | null)[] = new Array(all.length).fill(null)
      l.steps.forEach((s, i) => (out[at.get(s)!] = l.values[i]))
      return out
    })
    const axis = { stroke: colour('--faint'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' }
    const text = (x: number | null) => (x === null ? '-' : share ? (100 * x).toFixed(0) + '%' : number(x))
    const plot = new uPlot(
      {
        width: Math.max(200, el.clientWidth), height: 180,
        cursor: { sync: { key: link.key }, points: { size: 6 }, drag: { x: true, y: false } },
        scales: { x: { time: false } },
        legend: { show: true, live: true, markers: { width: 2 } },
        axes: [{ ...axis, size: 28, incrs: whole }, { ...axis, size: 56, values: (_, ticks) => ticks.map(text) }],
        series: [{ label: 'step' }, ...lines.map((l) => ({ label: l.name, stroke: colour('--tone' + (l.tone % 8)), width: 1.5, spanGaps: true, points: { show: l.steps.length < 40, size: 5 }, value: (_: uPlot, x: number | null) => text(x) }))],
        hooks: {
          draw: [(u) => drawMarks(u, marks, colour)],
          ready: [(u) => u.over.addEventListener('click', () => u.cursor.idx !== null && u.cursor.idx !== undefined && step.current?.(all[u.cursor.idx]))],
        },
      },
      [all, ...columns] as uPlot.AlignedData,
      el,
    )
    const watch = new ResizeObserver(() => plot.setSize({ width: Math.max(200, el.clientWidth), height: 180 }))
    watch.observe(el)
    return () => {
      watch.disconnect()
      plot.destroy()
    }
  }, [lines, marks, share])
  const last = lines.map((l) => `${l.name} ${number(l.values.findLast((x) => x !== null) ?? null)}`).join(', ')
  return (
    <figure className="plot">
      <figcaption>{title}</figcaption>
      <div ref={box} role="img" aria-label={`${title}, last: ${last}`} />
    </figure>
  )
}

const dashes: Record<Mark['kind'], number[]> = { checkpoint: [2, 4], restart: [8, 3], evaluation: [1, 2] }

function drawMarks(u: uPlot, marks: Mark[], colour: (name: string) => string) {
  const { ctx } = u
  ctx.save()
  ctx.strokeStyle = colour('--faint')
  ctx.fillStyle = colour('--faint')
  ctx.lineWidth = devicePixelRatio
  for (const m of marks) {
    const x = Math.round(u.valToPos(m.step, 'x', true))
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue
    ctx.setLineDash(dashes[m.kind].map((d) => d * devicePixelRatio))
    ctx.beginPath()
    ctx.moveTo(x, u.bbox.top)
    ctx.lineTo(x, u.bbox.top + u.bbox.height)
    ctx.stroke()
    ctx.fillText(m.kind[0], x + 2 * devicePixelRatio, u.bbox.top + 10 * devicePixelRatio)
  }
  ctx.restore()
}
