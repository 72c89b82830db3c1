// What a new playbook begins with: small, and it runs as it stands.
export const STARTER = `apiVersion: noetl.io/v2
kind: Playbook
metadata:
  name: greeting
  path: my/greeting
workload:
  name: world
workflow:
  - step: start
    tool:
      kind: python
      input:
        name: "{{ workload.name }}"
        code: |
          result = f"hello {name}"
    set:
      ctx.greeting: "{{ output.data }}"
`
