// Why it went as it did: of the whole execution, or of one step.

import type { Open } from './page'
import { Reasons } from './reasons'
import { useParameter } from './url-parameters'

export function WhyTab({ id, steps, open }: { id: string; steps: string[]; open: Open }) {
  const [step, choose] = useParameter('step')
  return (
    <div className="overflow-auto px-4 py-3">
      <select
        aria-label="Step"
        className="field mb-2 max-w-full"
        value={step}
        onChange={(event) => choose(event.target.value)}
      >
        <option value="">the whole execution</option>
        {steps.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <div className="panel p-3">
        <Reasons id={id} open={open} {...(step ? { step } : {})} />
      </div>
    </div>
  )
}
