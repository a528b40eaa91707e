#!/usr/bin/env python3
"""A stand-in for a schema registry: takes schemas as Apicurio's converter registers them, and gives them by id as Confluent's
registry does (ccompat). It proves the wire format of converter and checker, and nothing about a real registry.

    registry.py PORT-FILE     listens on a free port of 127.0.0.1, whose number it writes into the file
"""
import http.server
import json
import os
import re
import sys

schemas = []  # by id - 1


def register(content):
    if content not in schemas:
        schemas.append(content)
    return schemas.index(content) + 1


class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if not re.fullmatch(r"/apis/registry/v2/groups/[^/]+/artifacts(\?.*)?", self.path):
            self.answer(404, {"error_code": 404, "message": self.path})
            return
        if "extended" in self.headers.get("Content-Type", ""):
            body = json.loads(body)["content"]
        number = register(body)
        self.answer(200, {"id": self.headers.get("X-Registry-ArtifactId", "schema"), "version": "1", "type": "AVRO",
                          "globalId": number, "contentId": number, "state": "ENABLED"})

    def do_GET(self):
        found = re.fullmatch(r"/apis/ccompat/v7/schemas/ids/(\d+)(\?.*)?", self.path)
        if found and 1 <= int(found[1]) <= len(schemas):
            self.answer(200, {"schemaType": "AVRO", "schema": schemas[int(found[1]) - 1], "references": []})
        else:
            self.answer(404, {"error_code": 40403, "message": "Schema not found: " + self.path})

    def log_message(self, form, *arguments):
        sys.stderr.write(form % arguments + "\n")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
