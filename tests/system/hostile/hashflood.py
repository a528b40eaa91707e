"""Keys that all wanted one slot while hashes had no seed, or random ones: a capture of a topic `txns`.

    hashflood.py N flood|rand [1] >capture.jsonl

Integers whose 64 bits, mixed by the bijection that tables once used, end in the same 32; with 1 those of digests.
"""
import sys, json
M=0xd6e8feb86659fd93; I=pow(M,-1,2**64); MASK=2**64-1
def unx(v): return v ^ (v>>32)
def inv(v):
    v=unx(v); v=v*I&MASK; v=unx(v); v=v*I&MASK; return unx(v)
n=int(sys.argv[1]); mode=sys.argv[2]; plus=int(sys.argv[3]) if len(sys.argv)>3 else 0
out=[]; h=1
while len(out)<n:
    x=(inv(h<<32|0x12345678)-plus)&MASK; h+=1
    if x>=2**31: out.append(x)
if mode=="rand":
    import random; random.seed(1); out=[random.getrandbits(63)|2**40 for _ in range(n)]
per=20
for i in range(0,n,per):
    t=i//per+1
    record=json.dumps({"tid":t,"sid":1,"sts":2*t,"cts":2*t+1,"ops":[{"t":"w","k":x,"v":1} for x in out[i:i+per]]},separators=(',',':'))
    print(json.dumps({"topic":"txns","partition":0,"offset":i//per,"tstype":"create","ts":0,"key":None,"payload":record}))
