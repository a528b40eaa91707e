#!/usr/bin/env python3
# delete_topic.py HOST:PORT TOPIC: asks a broker to delete a topic (DeleteTopics, version 1) and waits for its answer.
import socket
import struct
import sys

host, port = sys.argv[1].rsplit(":", 1)
name = sys.argv[2].encode()
client = b"test"
request = struct.pack(">hhih", 20, 1, 1, len(client)) + client
request += struct.pack(">ih", 1, len(name)) + name + struct.pack(">i", 30000)
with socket.create_connection((host, int(port)), 60) as broker:
    broker.sendall(struct.pack(">i", len(request)) + request)
    answer = b""
    while len(answer) < 4 or len(answer) < 4 + struct.unpack(">i", answer[:4])[0]:
        piece = broker.recv(65536)
        if not piece:
            sys.exit("the broker hung up")
        answer += piece
failure = struct.unpack(">h", answer[-2:])[0]
sys.exit(f"error {failure} of the protocol" if failure else 0)
