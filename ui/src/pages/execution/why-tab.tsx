// Why it went as it did: of the whole execution, or of one step.
import { useQuery } from '@tanstack/react-query'
import { graph } from '../../api/queries'
import { useParameter } from './moment'
import type { Open } from './page'
import { Reasons } from './reasons'

export function WhyTab({ id, steps, open }: { id: string; steps: string[]; open: Open }) {
  const [step, choose] = useParameter('step')
  const shape = useQuery(graph(id))
  const names = [...new Set([...(shape.data?.steps.map((one) => one.step) ?? []), ...steps])]
  return (
    <div className="overflow-auto px-4 py-3">
      <select aria-label="Step" className="field mb-2" value={step} onChange={(event) => choose(event.target.value)}>
        <option value="">the whole execution</option>
        {names.map((name) => <option key={name}>{name}</option>)}
      </select>
      <div className="panel p-3"><Reasons id={id} open={open} {...(step ? { step } : {})} /></div>
    </div>
  )
}
