// The workflow as it ran, and beside it everything about the step that is chosen.
import { useQuery } from '@tanstack/react-query'
import { graph, progress } from '../../api/queries'
import type { Execution } from '../../api/types'
import { Reading } from '../../design/states'
import { Flow } from '../../graph/flow'
import { useParameter } from './moment'
import type { Open } from './page'
import { StepPanel } from './step-panel'

export function GraphTab({ id, at, summary, open }: { id: string; at: number | undefined; summary: Execution; open: Open }) {
  const shape = useQuery(graph(id))
  const found = useQuery(progress(id, at))
  const [chosen, choose] = useParameter('step')
  return (
    <Reading of={shape} what="Drawing the workflow">
      {(drawn) => (
        <div className="flex min-h-[420px] flex-1 flex-col md:min-h-0 md:flex-row">
          <div className="min-h-80 min-w-0 flex-1"><Flow shape={drawn} progress={found.data ?? null} chosen={chosen || null} onChoose={(step) => choose(step ?? '')} /></div>
          {chosen && found.data && <StepPanel id={id} step={chosen} shape={drawn} progress={found.data} summary={summary} at={at} open={open} onClose={() => choose('')} />}
        </div>
      )}
    </Reading>
  )
}
