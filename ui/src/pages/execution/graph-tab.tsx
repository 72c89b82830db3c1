// The workflow as it ran, and beside it everything about the step that is chosen.
import { useQuery } from '@tanstack/react-query'
import { progress } from '../../api/queries'
import type { Execution, Graph, Progress } from '../../api/types'
import { Empty } from '../../design/states'
import { Flow } from '../../graph/flow'
import type { Open } from './page'
import { StepPanel } from './step-panel'
import { useParameter } from './url-parameters'

interface Props {
  id: string
  at: number | undefined
  shape: Graph | null
  newest: Progress
  summary: Execution
  open: Open
}

export function GraphTab({ id, at, shape, newest, summary, open }: Props) {
  const past = useQuery({ ...progress(id, at ?? 0), enabled: at !== undefined })
  const [selected, select] = useParameter('step')
  const current = at === undefined ? newest : (past.data ?? newest)
  if (!shape)
    return <Empty title="There is no graph">This execution was refused before it had a playbook.</Empty>
  return (
    <div className="flex min-h-[420px] flex-1 flex-col md:min-h-0 md:flex-row">
      <div className="min-h-80 min-w-0 flex-1">
        <Flow
          shape={shape}
          progress={current}
          selected={selected || null}
          live={at === undefined && summary.ended_at === null}
          onChoose={(step) => select(step ?? '')}
        />
      </div>
      {selected && (
        <StepPanel
          id={id}
          step={selected}
          shape={shape}
          progress={current}
          summary={summary}
          at={at}
          open={open}
          onClose={() => select('')}
        />
      )}
    </div>
  )
}
