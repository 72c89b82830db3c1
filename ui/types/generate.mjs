// Writes src/api/openapi.ts from src/api/openapi.json. Any value is Json, any object is Obj.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import openapiTS, { astToString } from 'openapi-typescript'
import ts from 'typescript'

const folder = new URL('../src/api/', import.meta.url)
const text = readFileSync(new URL('openapi.json', folder), 'utf8')
const typeReference = (name) => ts.factory.createTypeReferenceNode(name)
const ANNOTATIONS = new Set(['title', 'description', 'default'])

const ast = await openapiTS(text, {
  defaultNonNullable: false, // what has a default need not be sent
  transform: (schema) => {
    const keys = Object.keys(schema).filter((key) => !ANNOTATIONS.has(key))
    if (keys.length === 0) return typeReference('Json')
    if (keys.length > 1) return undefined
    return schema.type === 'object'
      ? typeReference('Obj')
      : schema.type === 'array'
        ? ts.factory.createArrayTypeNode(typeReference('Json'))
        : undefined
  },
})
const hash = createHash('sha256').update(text).digest('hex')
const head = `// Made by \`npm run types\` from openapi.json (sha256 ${hash}); not to be changed by hand.
import type { Json, Obj } from './json'

`
writeFileSync(new URL('openapi.ts', folder), head + astToString(ast))
