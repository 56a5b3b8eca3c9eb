"""Checks documents against the schemas of docs/schemas, and api-NAME, those of src/api/openapi.json: one JSON object [schema, document] a line comes in, one JSON
array of what is wrong with it a line goes out. A schema that is itself wrong ends it."""

import json
import pathlib
import sys

import jsonschema

validators = {}
for path in (pathlib.Path(__file__).parents[2] / "docs" / "schemas").glob("*.schema.json"):
    schema = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validators[path.name] = jsonschema.Draft202012Validator(schema)

openapi = json.loads((pathlib.Path(__file__).parents[2] / "src" / "api" / "openapi.json").read_text(encoding="utf-8"))
for name in openapi["components"]["schemas"]:
    schema = {"$ref": f"#/components/schemas/{name}", "components": openapi["components"]}
    jsonschema.Draft202012Validator.check_schema(schema)
    validators[f"api-{name}.schema.json"] = jsonschema.Draft202012Validator(schema)

for line in sys.stdin.buffer:
    name, document = json.loads(line)
    errors = sorted(f"{error.json_path}: {error.message[:300]}" for error in validators[name].iter_errors(document))
    print(json.dumps(errors), flush=True)
