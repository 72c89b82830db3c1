"""The grammar is enforced: for each code, texts that break it (the mark « stands where the finding must) and one that does not."""

import pytest

from noetl.dsl.grammar import keychain as keychain_grammar
from noetl.dsl.grammar import playbook as playbook_grammar
from noetl.dsl.grammar import task as task_grammar
from noetl.dsl.grammar.check import check_shape
from noetl.dsl.grammar.types import Key, ListOf, Record
from tests.unit.dsl.documents import HEAD, doc, places, read, rooted, split, task
from tests.unit.dsl.kinds import KINDS

STEP = "- step: start\n  tool: {kind: noop}\n  %s"
LOOP = "- step: start\n  loop: {in: [1], iterator: x, %s}\n  tool: {kind: noop}"
RULES = "{kind: noop, spec: {policy: {rules: [%s]}}}"
BEFORE = "{kind: noop, spec: {policy: {before: [%s]}}}"
ELSE = "{else: {then: {do: continue}}}"
ADMIT = "spec: {policy: {admit: {rules: [%s]}}}"
ARC = "next: {arcs: [%s]}"
SPEC = "{kind: http, input: {url: 'http://a'}, spec: {%s}}"
HTTP = "{kind: http, input: {%s}}"


def step(entry: str) -> str:
    """A step with one more entry, on line 7 from column 5 on."""
    return doc(STEP % entry)


def headed(head: str) -> str:
    """A playbook with another head."""
    return doc("- {step: start, tool: {kind: noop}}", head)


BROKEN = {
    "not-a-playbook": ["«5", "«[a, b]", "«just text"],
    "unknown-key": [
        rooted("«steps: []"),
        rooted("«workloads: {}"),
        headed(HEAD.replace("path: cases/case", "path: cases/case, «owner: me")),
        rooted("executor: {«profil: local}"),
        rooted("executor: {spec: {«polo: default}}"),
        rooted("executor: {spec: {http: {«timeut: 5}}}"),
        rooted("executor: {spec: {policy: {«admit: {}}}}"),
        rooted("executor: {requires: {«tool: [http]}}"),
        rooted("workbook: {double: {tool: {kind: noop}, «next: {}}}"),
        rooted("keychain: [{name: a, kind: env, env: A, «vra: B}]"),
        doc("- {step: start, «tools: {kind: noop}}"),
        doc("- {«stpe: start, tool: {kind: noop}}"),
        doc("- {«name: start, tool: {kind: noop}}"),
        step("«timeout: 5"),
        step("«retry: 5"),
        step("spec: {«jion: all}"),
        step("spec: {policy: {«admt: {}}}"),
        step("spec: {policy: {lifecycle: {«timeout: 5}}}"),
        step("spec: {limits: {«max_task_run: 5}}"),
        step("spec: {limits: {«max_visits: 5}}"),
        step("spec: {validate: {«inputs: {}}}"),
        step("next: {«spce: {}, arcs: []}"),
        step("next: {arcs: [], spec: {«moed: exclusive}}"),
        step(ARC % "{step: start, «args_: {}}"),
        step(ARC % "{«setp: start}"),
        doc(LOOP % "«specs: {}"),
        doc(LOOP % "spec: {«max_in_fligt: 5}"),
        doc(LOOP % "spec: {policy: {«exce: local}}"),
        task("{«knid: noop}"),
        task("{kind: noop, «whatever: 5}"),
        task("{kind: noop, «inptu: {}}"),
        task("{kind: noop, «when: true}"),
        task("{kind: noop, «next: {}}"),
        task("{kind: http, input: {url: 'http://a'}, «timeout: 5}"),
        task("{kind: python, input: {code: 'result = n'}, «n: 5}"),
        task("{kind: playbook, path: a, «code: x}"),
        task("{kind: playbook, «pth: a}"),
        task(SPEC % "«retries: 5"),
        task(SPEC % "policy: {rules: [], «onunmatched: continue}"),
        task(RULES % "{«whn: true, then: {do: fail}}"),
        task(RULES % "{when: true, «thne: {do: fail}}"),
        task(RULES % "{when: true, then: {do: fail}, «do: fail}"),
        task(RULES % "{when: true, then: {«od: fail}}"),
        task(RULES % "{when: true, then: {do: retry, «atempts: 5}}"),
        task(RULES % "{else: {then: {do: fail}, «do: fail}}"),
        task("[{name: w, while: {when: true, do: [{kind: noop}], «mx: 5}}]"),
        task("[{name: w, while: {when: true, do: [{kind: noop}]}, «set: {}}]"),
        task("[{name: w, until: {«wen: true, do: [{kind: noop}]}}]"),
        task("[{name: c, choose: [{when: true, «than: [{kind: noop}]}]}]"),
        task("[{name: p, paginate: {request: {kind: noop}, «item: '{{ output.data }}'}}]"),
    ],
    "missing-key": [
        doc("- {step: start, tool: {kind: noop}}", "«kind: Playbook\nmetadata: {name: a, path: b}\n"),
        headed("«apiVersion: noetl.io/v2\nmetadata: {name: a, path: b}\n"),
        "«apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: a, path: b}\n",
        "«apiVersion: noetl.io/v2\nkind: Playbook\nworkflow: [{step: a, tool: {kind: noop}}]\n",
        headed("apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: «{name: a}\n"),
        headed("apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: «{path: a}\n"),
        doc("- «tool: {kind: noop}"),
        rooted("keychain: [«{name: a}]"),
        rooted("keychain: [«{kind: env, env: A}]"),
        rooted("keychain: [«{name: a, kind: env}]"),
        rooted("keychain: [«{name: a, kind: file}]"),
        rooted("keychain: [«{name: a, kind: credential}]"),
        rooted("keychain: [«{name: a, kind: bearer}]"),
        rooted("keychain: [«{name: a, kind: basic, user: me}]"),
        rooted("keychain: [«{name: a, kind: api_key}]"),
        rooted("keychain: [«{name: a, kind: oauth2}]"),
        rooted("keychain: [{name: a, kind: bearer, token: «{}}]"),
        rooted("workbook: {double: «{input: {}}}"),
        rooted("workbook: «[{tool: {kind: noop}}]"),
        step(ARC % "«{when: true}"),
        step(ADMIT % "«{when: true}"),
        step(ADMIT % "{when: true, then: «{}}"),
        step(ADMIT % "{else: «5}"),
        step("spec: {policy: {admit: «{}}}"),
        step("spec: {synthesize: «{}}"),
        task("«{name: a}"),
        task("«{kind: playbook}"),
        task("[{name: w, while: «{do: [{kind: noop}]}}]"),
        task("[{name: w, while: «{when: true}}]"),
        task("[{name: c, choose: [«{when: true}]}]"),
        task("[{name: p, paginate: «{by: page}}]"),
    ],
    "wrong-type": [
        rooted("workload: «5"),
        rooted("keychain: «{a: 1}"),
        rooted("keychain: [«5]"),
        rooted("keychain: [{name: a, kind: «{b: env}}]"),
        rooted("workbook: «5"),
        rooted("workbook: {double: «5}"),
        rooted("executor: «[a]"),
        rooted("executor: {spec: «5}"),
        rooted("executor: {requires: {tools: «http}}"),
        rooted("executor: {requires: {tools: [«5]}}"),
        rooted("executor: {spec: {http: «5}}"),
        rooted("executor: {spec: {timeout: «soon}}"),
        rooted("executor: {spec: {policy: {results: {reference_first: «1}}}}"),
        headed(HEAD.replace("name: case", "name: «5")),
        headed(HEAD.replace("path: cases/case", "path: a, tags: «x")),
        headed(HEAD.replace("path: cases/case", "path: a, version: «[1]")),
        HEAD + "workflow: «{step: a}\n",
        doc("- «start"),
        doc("- {step: «5, tool: {kind: noop}}"),
        doc("- {step: start, tool: «noop}"),
        doc("- {step: start, tool: [«noop]}"),
        doc("- {step: start, tool: {kind: noop}, input: «[1]}"),
        doc("- {step: start, tool: {kind: noop}, set: «[1]}"),
        doc("- {step: start, tool: {kind: noop}, spec: «[1]}"),
        doc("- {step: start, tool: {kind: noop}, desc: «[1]}"),
        doc("- {step: start, tool: {kind: noop}, loop: «[1]}"),
        doc("- {step: start, loop: {in: «5, iterator: x}, tool: {kind: noop}}"),
        doc("- {step: start, loop: {in: «items, iterator: x}, tool: {kind: noop}}"),
        doc(LOOP % "spec: {max_in_flight: «many}"),
        doc(LOOP % "spec: {max_in_flight: «true}"),
        doc(LOOP % "spec: {max_in_flight: «1.5}"),
        doc(LOOP % "spec: {policy: {reduce: «[sum]}}"),
        step("next: {arcs: «{step: start}}"),
        step("next: {arcs: [«start]}"),
        step(ARC % "{step: «5}"),
        step(ADMIT % "{when: true, then: {allow: «1}}"),
        step("spec: {policy: {lifecycle: {timeout_s: «soon}}}"),
        step("spec: {validate: {input: «5}}"),
        task("{kind: «5}"),
        task("{kind: noop, input: «5}"),
        task("{kind: noop, auth: «5}"),
        task("{kind: noop, spec: «5}"),
        task(HTTP % "url: «5"),
        task(HTTP % "url: 'http://a', headers: «{a: 1}"),
        task("{kind: file, input: {action: «burn, path: a}}"),
        task("{kind: python, input: {code: «5}}"),
        task(SPEC % "idempotency: «sure"),
        task("{kind: postgres, input: {query: q}, spec: {pool_size: «many}}"),
        task(RULES % "«5"),
        task(RULES % "{when: true, then: {do: retry, attempts: «many}}"),
        task(RULES % "{when: true, then: {do: retry, attempts: 2, delay: «[1]}}"),
        task(RULES % "{when: true, then: {do: retry, attempts: 2, jitter: «2}}"),
        task(RULES % "{when: true, then: {do: continue, set: «5}}"),
        task("[{name: w, while: «5}]"),
        task("[{name: w, while: {when: true, do: «{kind: noop}}}]"),
        task("[{name: c, choose: «{when: true}}]"),
        task("[{name: c, choose: [«5]}]"),
        task("{kind: http, input: «'a text'}"),
        task("{kind: http, input: «'to {{ workload.x }}'}"),
        task("{kind: python, input: «'{{ workload.x }}'}"),
        task("[{name: p, paginate: {request: {kind: http, input: «'{{ workload.x }}'}}}]"),
        task("[{name: p, paginate: {request: «5}}]"),
        task("{kind: playbook, path: «5}"),
        task("{kind: playbook, path: a, wait: «maybe}"),
    ],
    "wrong-value": [
        headed(HEAD.replace("kind: Playbook", "kind: «Workflow")),
        headed(HEAD.replace("name: case", "name: «''")),
        HEAD + "workflow: «[]\n",
        rooted("executor: {profile: «cloud}"),
        rooted("executor: {spec: {on_failure: «explode}}"),
        rooted("executor: {spec: {trace: «none}}"),
        rooted("executor: {spec: {limits: {max_payload_bytes: «0}}}"),
        rooted("keychain: [{name: a, kind: secret_manager, provider: «sticky_note}]"),
        step("spec: {join: «any}"),
        step("spec: {timeout: «0}"),
        step("spec: {policy: {failure: {mode: «fast}}}"),
        step("next: {spec: {mode: «parallel}, arcs: []}"),
        doc(LOOP % "spec: {mode: «fast}"),
        doc(LOOP % "spec: {max_in_flight: «0}"),
        doc(LOOP % "spec: {policy: {exec: «remote}}"),
        doc(LOOP % "spec: {policy: {reduce: {ctx.a: «add}}}"),
        doc("- {step: start, tool: «[]}"),
        task(RULES % "{when: true, then: {do: «repeat}}"),
        task(RULES % "{when: true, then: {do: «5}}"),
        task(RULES % "{when: true, then: {do: retry, attempts: «0}}"),
        task(RULES % "{when: true, then: {do: retry, attempts: 2, backoff: «double}}"),
        task(RULES % "{when: true, then: {do: retry, attempts: 2, delay: «soon}}"),
        task(RULES % "{when: true, then: {do: retry, attempts: 2, delay: «-1}}"),
        task(SPEC % "policy: {rules: [], on_unmatched: «fail}"),
        task(
            "[{name: c, choose: [{else: [{kind: noop}]}, {when: true, then: [{kind: noop}]}, «{else: [{kind: noop}]}]}]"
        ),
        task("[{name: p, paginate: {by: «letter, request: {kind: noop}}}]"),
        task("[{name: p, paginate: {request: «{while: {when: true, do: [{kind: noop}]}}}}]"),
    ],
    "template-not-allowed": [
        doc("- {step: «'{{ workload.name }}', tool: {kind: noop}}"),
        task("[{name: «'{{ ctx.a }}', kind: noop}]"),
        task("{kind: «'{{ ctx.kind }}'}"),
        step(ARC % "{step: «'{{ ctx.target }}'}"),
        step("spec: {join: «'{{ ctx.join }}'}"),
        doc(LOOP % "spec: {mode: «'{{ ctx.mode }}'}"),
        doc("- {step: start, loop: {in: [1], iterator: «'{{ ctx.x }}'}, tool: {kind: noop}}"),
        headed(HEAD.replace("name: case", "name: «'{{ workload.name }}'")),
        rooted("keychain: [{name: a, kind: env, env: «'{{ workload.variable }}'}]"),
        task(RULES % "{when: true, then: {do: «'{{ ctx.do }}'}}"),
        task(RULES % "{when: true, then: {do: retry, attempts: 2, jitter: «'{{ ctx.j }}'}}"),
        task(RULES % "{else: {then: {do: jump, to: «'{{ ctx.to }}'}}}"),
        step("spec: {synthesize: {from: '{{ output.data }}', limits: {max_steps: «'{{ ctx.n }}'}}}"),
    ],
    "bad-template": [
        task("{kind: http, input: {url: «'{{ workload. }}'}}"),
        task("{kind: noop, input: «'{{ a b }}'}"),
        task("{kind: noop, set: {ctx.a: «'{{ 1 +'}}"),
        step(ARC % "{step: start, when: «'{{ ctx.a ==== 1 }}'}"),
        step("input: {a: [1, {b: «'{{ ctx.a | no_such_filter }}'}]}"),
        task(RULES % "{when: «'{{ a b }}', then: {do: fail}}"),
        step(ADMIT % "{when: «'{{ a b }}', then: {allow: true}}"),
        doc("- {step: start, loop: {in: «'{{ a b }}', iterator: x}, tool: {kind: noop}}"),
        rooted("executor: {spec: {timeout: «'{{ a b }}'}}"),
    ],
    "guard-without-template": [
        step(ARC % "{step: start, when: «ctx.x > 1}"),
        step(ARC % "{step: start, when: «1}"),
        step(ADMIT % "{when: «yes, then: {allow: true}}"),
        task(RULES % "{when: «output.status, then: {do: fail}}"),
        task(BEFORE % "{when: «[1], then: {do: skip}}"),
        task("[{name: w, while: {when: «step.n < 3, do: [{kind: noop}]}}]"),
        task("[{name: c, choose: [{when: «, then: [{kind: noop}]}]}]"),
    ],
    "bad-name": [
        doc("- {step: «first step, tool: {kind: noop}}"),
        doc("- {step: «1st, tool: {kind: noop}}"),
        doc("- {step: «größe, tool: {kind: noop}}"),
        task("[{name: «my-task, kind: noop}]"),
        task("[{name: «a.b, kind: noop}]"),
        task("[{name: «'', kind: noop}]"),
        doc("- {step: start, loop: {in: [1], iterator: «a b}, tool: {kind: noop}}"),
        rooted("workbook: {«dou-ble: {tool: {kind: noop}}}"),
        rooted("keychain: [{name: «my-key, kind: env, env: A}]"),
    ],
    "reserved-name": [
        *(
            doc(f"- {{step: «'{name}', tool: {{kind: noop}}}}")
            for name in sorted(playbook_grammar.RESERVED_NAMES)
        ),
        doc("- {step: «_hidden, tool: {kind: noop}}"),
        task("[{name: «output, kind: noop}]"),
        task("[{name: «_a, kind: noop}]"),
        doc("- {step: start, loop: {in: [1], iterator: «index}, tool: {kind: noop}}"),
        doc("- {step: start, loop: {in: [1], iterator: «parent}, tool: {kind: noop}}"),
        doc("- {step: start, loop: {in: [1], iterator: «ctx}, tool: {kind: noop}}"),
    ],
    "wrong-api-version": [
        headed(HEAD.replace("noetl.io/v2", "«noetl.io/v1")),
        headed(HEAD.replace("noetl.io/v2", "«2")),
        headed(HEAD.replace(" noetl.io/v2", "«")),
    ],
    "set-in-spec": [
        step("spec: {«set: {ctx.a: 1}}"),
        task("{kind: noop, spec: {«set: {ctx.a: 1}}}"),
        doc(LOOP % "spec: {«set: {ctx.a: 1}}"),
        step("next: {arcs: [], spec: {«set: {ctx.a: 1}}}"),
        rooted("executor: {spec: {«set: {ctx.a: 1}}}"),
        rooted("executor: {spec: {http: {«set: {ctx.a: 1}}}}"),
    ],
    "do-outside-rules": [
        step("spec: {policy: {rules: [{else: {then: {«do: fail}}}]}}"),
        step("spec: {policy: {«do: fail}}"),
        step(ADMIT % "{when: true, then: {allow: true, «do: fail}}"),
        step(ADMIT % "{when: true, «do: fail}"),
        step("spec: {policy: {compensation: {steps: [{«do: retry}]}}}"),
        step("next: {arcs: [], spec: {policy: {«do: fail}}}"),
        doc(LOOP % "spec: {policy: {rules: [{when: true, then: {«do: fail}}]}}"),
        rooted("executor: {spec: {policy: {«do: fail}}}"),
        task("{kind: noop, «do: fail}"),
        step(ARC % "{step: start, spec: {«do: fail}}"),
    ],
    "next-not-router": [step("next: «{}"), step("next: «{spec: {mode: exclusive}}"), step("next:«")],
    "loop-incomplete": [
        doc("- {step: start, loop: «{in: [1]}, tool: {kind: noop}}"),
        doc("- {step: start, loop: «{iterator: x}, tool: {kind: noop}}"),
        doc(LOOP % "loop: «{iterator: y}"),
        rooted("workbook: {double: {loop: «{in: [1]}, tool: {kind: noop}}}"),
    ],
    "policy-without-rules": [
        task("{kind: noop, spec: {policy: «[{else: {then: {do: continue}}}]}}"),
        task("{kind: noop, spec: {policy: «{}}}"),
        task("{kind: noop, spec: {policy: «{on_unmatched: continue}}}"),
        task("{kind: noop, spec: {policy: «retry}}"),
        task("{kind: noop, spec: {policy: {rules: «{when: true}}}}"),
    ],
    "unknown-kind": [
        task("{kind: «htpp, url: 'http://a'}"),
        task("[{name: a, kind: «teleport, anything: 5, spec: {knob: 5, timeout: 3}}]"),
        rooted("workbook: {double: {tool: {kind: «nop}}}"),
        task("[{name: w, while: {when: true, do: [{name: a, kind: «htpp}]}}]"),
    ],
    "unknown-input": [
        task("{kind: http, input: {url: 'http://a', «haeders: {}}}"),
        task("{kind: http, input: {«ulr: 'http://a'}}"),
        task("{kind: file, input: {action: read, path: a, «encoding: utf8}}"),
        task("{kind: postgres, input: {«qurey: select 1}}"),
    ],
    "missing-input": [
        task("«{kind: http}"),
        task("{kind: http, input: «{method: GET}}"),
        task("{kind: http, input: «{url: }}"),
        task("{kind: python, input: «{n: 1}}"),
        task("«{kind: postgres}"),
        task("{kind: file, input: «{action: read}}"),
    ],
    "conflicting-inputs": [
        task("{kind: postgres, input: {query: a, «command: b}}"),
        task("{kind: python, input: {code: a, «script: b}}"),
        task("{kind: python, input: {n: 1, script: b, «code: a}}"),
    ],
    "sugar-with-kind": [
        task("[{name: w, «kind: noop, while: {when: true, do: [{kind: noop}]}}]"),
        task("[{name: w, while: {when: true, do: []}, «until: {when: true, do: []}}]"),
        task("[{choose: [], «kind: noop}]"),
    ],
    "rule-without-do": [
        task(RULES % "{when: true, then: «{attempts: 3}}"),
        task(RULES % "{when: true, then: «{attempts: fail}}"),
        task(RULES % "«{when: true}"),
        task(RULES % "«{when: true, do: fail}"),
        task(RULES % "{else: {then: «}}"),
        task(RULES % "{when: true, then: «fail}"),
        task(RULES % "{else: «}"),
        task(RULES % "{else: «fail}"),
        task(BEFORE % "{when: true, then: «{}}"),
    ],
    "rule-without-when": [
        task(RULES % "«{then: {do: fail}}"),
        task(BEFORE % "«{then: {do: skip}}"),
        step(ADMIT % "«{then: {allow: true}}"),
    ],
    "directive-in-before": [
        task(BEFORE % "{else: {then: {do: «retry}}}"),
        task(BEFORE % "{when: true, then: {do: «retry, attempts: 3}}"),
        task(
            "[{name: a, kind: noop}, {name: b, kind: noop, spec: {policy: {before: [{else: {do: «retry}}]}}}]"
        ),
    ],
    "option-without-directive": [
        task(RULES % "{else: {then: {do: fail, «attempts: 3}}}"),
        task(RULES % "{else: {then: {do: continue, «delay: 3}}}"),
        task(RULES % "{else: {then: {do: break, «to: a}}}"),
        task(RULES % "{else: {then: {do: continue, «message: hello}}}"),
    ],
    "jump-without-target": [
        task(RULES % "{else: {then: «{do: jump}}}"),
        task(BEFORE % "{else: {then: «{do: jump}}}"),
        task(RULES % ("{when: true, then: «{do: jump, set: {ctx.a: 1}}}, " + ELSE)),
    ],
    "bad-set-target": [
        task("{kind: noop, set: {«workload.a: 1}}"),
        task("{kind: noop, set: {«output: 1}}"),
        task("{kind: noop, set: {«ctx: 1}}"),
        task("{kind: noop, set: {«ctx.: 1}}"),
        task("{kind: noop, set: {«ctx..a: 1}}"),
        task("{kind: noop, set: {«'ctx.{{ a }}': 1}}"),
        step(ARC % "{step: start, set: {«step.a: 1}}"),
        step(ARC % "{step: start, set: {«a: 1}}"),
        doc("- {step: start, loop: {in: [1], iterator: x}, tool: {kind: noop}, set: {«iter.a: 1}}"),
        doc(LOOP % "spec: {policy: {reduce: {«iter.a: sum}}}"),
        rooted("workbook: {b: {tool: {kind: noop}, set: {«iter.x: 1}}}"),
        rooted("workbook: {b: {loop: {in: [1], iterator: x}, tool: {kind: noop}, set: {«iter.y: 1}}}"),
    ],
    "read-only-target": [
        task("{kind: noop, set: {«iter.index: 1}}"),
        task("{kind: noop, set: {«iter.parent.a: 1}}"),
        task("{kind: noop, set: {«iter.count: 1}}"),
        doc("- {step: start, loop: {in: [1], iterator: x}, tool: {kind: noop, set: {«iter.x: 1}}}"),
        doc("- {step: start, loop: {in: [1], iterator: x}, tool: {kind: noop, set: {iter: {«x: 1}}}}"),
        rooted("workbook: {b: {loop: {in: [1], iterator: x}, tool: {kind: noop, set: {«iter.x.y: 1}}}}"),
    ],
    "unknown-keychain-kind": [
        rooted("keychain: [{name: a, kind: «envv, env: A}]"),
        rooted("keychain: [{name: a, kind: «sticky_note}]"),
        rooted("keychain: [{name: a, kind: env, env: A}, {name: b, kind: «bearr}]"),
    ],
    "bad-json-schema": [
        step("spec: {validate: {input: «{type: objct}}}"),
        task("{kind: noop, spec: {validate: {output: «{minimum: low}}}}"),
        step("spec: {validate: {input: «{$schema: 'http://127.0.0.1:1/schema'}}}"),
    ],
}

CLEAN = [
    doc("- {step: start, tool: {kind: noop}}"),
    rooted(
        "executor: {profile: auto, version: 2, requires: {tools: [http]}, spec: {http: {timeout: 5, idempotency: true}, timeout: {connect: 1, read: 2}, limits: {max_task_runs: 5}, on_failure: drain, trace: steps, result: {store: {kind: nats_object, bucket: b}}, policy: {defaults: {timeouts: 5, resources: {cpu: 1}}, results: {reference_first: true}, limits: {max_payload_bytes: 5}}}}"
    ),
    rooted(
        "keychain: [{name: a, kind: env, env: A}, {name: b, kind: file, path: /b}, {name: c, kind: credential, credential: d}, {name: e, kind: secret_manager}, {name: f, kind: postgres_credential}, {name: g, kind: bearer, env: G}, {name: h, kind: basic, user: me, password: {env: P}}, {name: i, kind: api_key, key: {path: /i}, header: X-Key}, {name: j, kind: oauth2, token_url: u, client_id: c, scope: [a, b]}, {name: k, kind: secret_manager, provider: vault, mount: m}]"
    ),
    rooted("workload: {any: [1, {thing: '{{ not a template'}]}"),
    headed(
        HEAD.replace(
            "path: cases/case", "path: a, version: 1.5, description: d, labels: {team: x}, tags: [y]"
        )
    ),
    step(
        "spec: {join: each, pool: '{{ workload.pool }}', timeout: '{{ workload.t }}', limits: {max_takeovers: 0}, result: {store: postgres}, validate: {input: {type: object}, output: true}}\n  next: {spec: {mode: inclusive}, arcs: []}"
    ),
    step(
        "spec: {validate: {input: {$schema: 'https://json-schema.org/draft/2020-12/schema', type: object}}}"
    ),
    doc(
        "- {step: start, loop: {in: '{{ workload.items }}', iterator: x, spec: {mode: parallel, max_in_flight: '{{ workload.n }}', chunk: 5, policy: {exec: distributed, reduce: {ctx.a: sum, step.b: append}}}, loop: {in: {a: 1}, iterator: y}}, tool: {kind: noop, set: {iter.a: 1}}}"
    ),
    task(
        "{kind: http, input: {url: 'http://a', params: {a: 1}}, auth: key, desc: d, output: '{{ output.data }}', spec: {timeout: {connect: 1, read: '{{ workload.t }}'}}}"
    ),
    task(
        RULES
        % "{when: '{{ output.x }}', then: {do: retry, attempts: '{{ workload.n }}', backoff: linear, delay: '7', max_delay: 9, jitter: true, set: {ctx.a.b-c: 1}}}, {when: false, then: {do: fail, message: 'no {{ ctx.a }}'}}, {else: {then: {do: break}}}"
    ),
    task(RULES % "{when: true, then: {do: retry, attempts: 2, delay: 'Wed, 21 Oct 2026 07:28:00 GMT'}}"),
    task(
        "[{name: a, kind: noop, spec: {policy: {before: [{when: true, then: {do: jump, to: a}}, {else: {then: {do: skip}}}]}}}]"
    ),
    task(
        "[{name: w, while: {when: '{{ step.n < 3 }}', do: [{name: b, until: {when: true, do: [{kind: noop}], delay: 1.5, max: 5}}], max: 10}}, {name: c, choose: [{when: true, then: [{kind: noop}]}, {else: [{kind: noop}]}]}]"
    ),
    task(
        "[{name: p, paginate: {by: page, request: {kind: http, input: {url: 'http://a'}}, params: {page: page, size: n}, start: 1, size: 10, items: '{{ output.data }}', more: '{{ output.data.more }}', each: [{kind: noop}], max_pages: 5, collect: true}}]"
    ),
    task("{kind: workbook, block: double, input: {n: 1}}"),
    task("[{name: c, choose: [{when: true, then: []}, {else: []}]}]"),
    task("{kind: noop, desc: 'shows {{ what you write'}"),
    task("{kind: queue, topic: '{{ ctx.topic }}', input: {n: 1}}"),
    doc("- {step: start, tool: {kind: noop}, set: , next: {arcs: }}"),
    task("{kind: playbook, path: a/b, version: '2', wait: true, input: {n: 1}}"),
    headed(HEAD.replace("path: cases/case", "path: a, labels: {noetl.io/compiled: 'true'}")).replace(
        "{kind: noop}", "[{name: a.test, kind: noop}]"
    ),
]


@pytest.mark.parametrize(
    "code, text",
    [(code, text) for code, texts in BROKEN.items() for text in texts],
    ids=lambda value: value[-60:],
)
def test_each_breach_gives_exactly_one_finding_in_its_place(code, text):
    text, line, column = split(text)
    tree = read(text).tree
    found = [finding for finding in check_shape(tree, KINDS) if finding.severity == "error"]
    assert places(found) == [(code, line, column)]
    assert found[0].hint or code == "bad-template"


@pytest.mark.parametrize("text", CLEAN)
def test_what_the_grammar_allows_draws_no_finding(text):
    assert check_shape(read(text).tree, KINDS) == []


def test_every_code_of_the_shape_has_three_breaches():
    assert {code: len(texts) for code, texts in BROKEN.items() if len(texts) < 3} == {}


def test_a_misspelt_key_is_answered_with_the_known_one():
    hints = {
        "«stpe": "did you mean 'step'?",
        "«tools": "did you mean 'tool'?",
        "«knid": "did you mean 'kind'?",
        "«ulr": "did you mean 'url'?",
        "«atempts": "did you mean 'attempts'?",
    }
    for text in (text for texts in BROKEN.values() for text in texts):
        for word, hint in hints.items():
            if word in text:
                assert [f.hint for f in check_shape(read(split(text)[0]).tree, KINDS)] == [hint]


def test_the_workload_of_a_called_playbook_is_its_input():
    text = task("{kind: playbook, path: a/b, workload: {n: 1}}")
    found = check_shape(read(text).tree, KINDS)
    assert [finding.hint for finding in found] == [
        "write: input: {…}, which is laid over the workload of the playbook that is called"
    ]


def test_an_unknown_kind_names_the_nearest_and_the_installed_ones():
    (found,) = check_shape(read(task("{kind: htpp}")).tree, KINDS)
    assert found.hint is not None
    assert found.hint.startswith(
        "did you mean 'http'? installed kinds: file, http, noop, playbook, postgres, python, queue"
    )


@pytest.mark.parametrize(
    "text",
    [
        rooted("executor: {spec: {policy: {«placement: here}}}"),
        rooted("executor: {spec: {policy: {«cost: {}}}}"),
        rooted("executor: {spec: {policy: {«quantum: {}}}}"),
        rooted("executor: {spec: {«no_next_is_error: true}}"),
        rooted("executor: {spec: {«sandbox: {}}}"),
        rooted("executor: {spec: {«telemetry: {}}}"),
        step("spec: {«lease: {ttl: 30}}"),
        step("spec: {policy: {«tracing: {}}}"),
        step("spec: {policy: {«quotas: {}}}"),
        step("spec: {policy: {«compensation: {}}}"),
        step("spec: {policy: {admit: {«mode: exclusive, rules: []}}}"),
        doc(LOOP % "spec: {policy: {«ordering: strict}}"),
        doc(LOOP % "spec: {policy: {«backpressure: {}}}"),
        doc(LOOP % "spec: {policy: {«partitioning: {}}}"),
        task(SPEC % "policy: {«mode: exclusive, rules: []}"),
        task(SPEC % "policy: {«after: [], rules: []}"),
        task(SPEC % "policy: {«finally: [], rules: []}"),
        step("next: {arcs: [], spec: {«policy: {}}}"),
        step(ARC % "{step: start, «spec: {priority: 1}}"),
    ],
)
def test_a_reserved_key_is_accepted_and_said_to_have_no_effect(text):
    text, line, column = split(text)
    found = check_shape(read(text).tree, KINDS)
    assert [(f.code, f.severity, f.line, f.column) for f in found] == [("reserved-key", "info", line, column)]


def test_findings_of_the_whole_document_come_at_once():
    text = doc("- {stpe: a}\n- {step: b, tool: {kind: htpp}}\n- {step: c, tool: {kind: noop}, nxt: {}}")
    found = [f for f in read(text).diagnostics if f.severity == "error"]
    assert [(f.code, f.line) for f in found] == [("unknown-key", 5), ("unknown-kind", 6), ("unknown-key", 7)]


@pytest.mark.parametrize(
    "text",
    [
        headed(HEAD.replace("path: cases/case", "path: cases/case, description: Reads orders, asks first")),
        doc("- {step: start, tool: {kind: noop, desc: Reads orders, and keeps them}}"),
        doc("- {step: start, tool: {kind: file, input: {action: read, path: my, own file}}}"),
    ],
)
def test_a_text_that_a_comma_has_cut_is_to_be_quoted(text):
    """What agents and people write into braces most often."""
    (found,) = [f for f in read(text).diagnostics if f.severity == "error"]
    assert found.hint == "put the text before it in quotes: a comma in { } begins another key"


@pytest.mark.parametrize("tree", [None, 5, "text", [], [1], True])
def test_a_document_that_is_no_mapping_is_one_finding(tree):
    assert [finding.code for finding in check_shape(tree, KINDS)] == ["not-a-playbook"]


def records(shape: object, seen: set[int]) -> list[Record]:
    """Every record reachable from a shape."""
    if isinstance(shape, ListOf):
        return records(shape.item, seen)
    if not isinstance(shape, Record) or id(shape) in seen:
        return []
    seen.add(id(shape))
    return [shape, *(found for key in shape.keys.values() for found in records(key.shape, seen))]


def tables() -> list[Record]:
    """Every record of the grammar."""
    seen: set[int] = set()
    modules = (playbook_grammar, task_grammar, keychain_grammar)
    roots = [value for module in modules for value in vars(module).values() if isinstance(value, Record)]
    return [found for root in roots for found in records(root, seen)]


@pytest.mark.parametrize("record", tables(), ids=lambda record: record.name)
def test_every_key_of_the_grammar_is_described(record):
    assert all(isinstance(key, Key) for key in record.keys.values())
    missing = [name for name, key in record.keys.items() if not key.doc and record.name != "a keychain entry"]
    assert missing == []
