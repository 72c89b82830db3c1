// The few line icons that are not states.
const PATHS: Record<string, string> = {
  home: 'M2.5 7.5 8 2.8l5.5 4.7M4 6.5V13h3v-3.4h2V13h3V6.5',
  runs: 'M2 4h8M2 8h12M2 12h6',
  book: 'M3 2.5h8.5a1.5 1.5 0 0 1 1.5 1.5v9.5H4.5A1.5 1.5 0 0 1 3 12ZM3 12a1.5 1.5 0 0 1 1.5-1.5H13',
  docs: 'M4 2.5h5.5L12 5v8.5H4ZM9.5 2.5V5H12M6 8h4M6 10.5h4',
  compare: 'M5 2.5v11M2.5 5 5 2.5 7.5 5M11 13.5v-11M8.5 11l2.5 2.5 2.5-2.5',
  workers: 'M2.5 3h11v4h-11ZM2.5 9h11v4h-11ZM5 5h.1M5 11h.1',
  key: 'M9.5 6.5a3 3 0 1 1-1.2-2.4M8 8l5.5 5.5M11 11l1.6-1.6',
  settings: 'M2.5 4.5h6M11.5 4.5h2M2.5 11.5h2M7.5 11.5h6M8.5 3v3M4.5 10v3',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9ZM10.3 10.3l3.2 3.2',
  copy: 'M5.5 5.5h8v8h-8ZM10.5 5.5v-3h-8v8h3',
  download: 'M8 2.5v7.5M4.8 7 8 10.2 11.2 7M2.5 13.5h11',
  close: 'm3.5 3.5 9 9M12.5 3.5l-9 9',
  chevron: 'm6 3.5 4.5 4.5L6 12.5',
  play: 'M4.5 2.8v10.4l8.5-5.2Z',
  pause: 'M5 3v10M11 3v10',
  stop: 'M3.5 3.5h9v9h-9Z',
  retry: 'M3 8a5 5 0 1 1 1.6 3.7M3 13v-3.4h3.4',
  signal: 'M2.5 8.5h2.8l1.9-5 2.6 9 1.7-4h2',
  link: 'M6.5 9.5 9.5 6.5M7.5 4.5l1.4-1.4a2.5 2.5 0 0 1 3.6 3.6L11 8.2M8.5 11.5l-1.4 1.4a2.5 2.5 0 0 1-3.6-3.6L5 7.8',
  sun:
    'M8 5.3a2.7 2.7 0 1 1 0 5.4 2.7 2.7 0 0 1 0-5.4Z' +
    'M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9',
  moon: 'M13 9.7A5.5 5.5 0 0 1 6.3 3a5.5 5.5 0 1 0 6.7 6.7Z',
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  loop: 'M4 5h6.5A2.5 2.5 0 0 1 13 7.5v0M12 11H5.5A2.5 2.5 0 0 1 3 8.5v0M8.5 3l2 2-2 2M7.5 13l-2-2 2-2',
  gate: 'M3 13V3M13 13V3M3 6h10M3 10h10',
  join: 'M3 3c0 5 5 4 5 10M13 3c0 5-5 4-5 10',
  clock: 'M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2ZM8 5v3.2l2.2 1.4',
  bell: 'M4 11V7a4 4 0 0 1 8 0v4l1.2 1.3H2.8ZM6.8 13.8h2.4',
  question: 'M5.8 6A2.2 2.2 0 1 1 8.6 8c-.5.3-.6.7-.6 1.4M8 12v.1',
}

export function Icon({
  name,
  size = 14,
  className = '',
}: {
  name: string
  size?: number
  className?: string
}) {
  return (
    <svg
      viewBox="0 0 16 16"
      width={size}
      height={size}
      className={`shrink-0 ${className}`}
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={PATHS[name] ?? ''} />
    </svg>
  )
}
