"""Clumsy and hostile producers: captures of a topic `txns` that once cost the square of their size, in time or output. Modes
that begin with `joined` have a change stream of Dgraph's beside it, `dgraph-cdc`, with all that was written.

    complexity.py MODE N >capture.jsonl
"""
import json,sys
mode=sys.argv[1]; n=int(sys.argv[2])
o=sys.stdout.write
def cap(i,p): o('{"topic":"txns","partition":0,"offset":%d,"tstype":"create","ts":0,"key":null,"payload":%s}\n'%(i,json.dumps(p)))
rows=0
def row(cts,value): # key v/0x1
    global rows
    event={"meta":{"commit_ts":cts},"type":"mutation","event":{"operation":"set","uid":1,"attr":"v","value":value,"value_type":"int"}}
    o(json.dumps({"topic":"dgraph-cdc","partition":0,"offset":rows,"key":"\0"*8,"payload":json.dumps(event)})+"\n")
    rows+=1
if mode=="onetx":
    cap(0,'{"tid":1,"sid":1,"sts":1,"cts":2,"ops":['+','.join('{"t":"%s","k":1,"v":%d}'%("wr"[i&1],i-(i&1)) for i in range(n))+']}')
elif mode=="onetxreads":
    cap(0,'{"tid":1,"sid":1,"sts":1,"cts":2,"ops":['+','.join('{"t":"r","k":1,"v":%d}'%i for i in range(n))+']}')
elif mode=="sno":
    for i in range(n): cap(i,'{"tid":%d,"sid":1,"sno":%d,"sts":%d,"cts":%d,"ops":[{"t":"r","k":1,"v":null}]}'%(i+1,n-i,2*(n-i),2*(n-i)))
elif mode=="sno_noscend":   # descending sno, ascending time: all break the session order
    for i in range(n): cap(i,'{"tid":%d,"sid":1,"sno":%d,"sts":%d,"cts":%d,"ops":[{"t":"r","k":1,"v":null}]}'%(i+1,n-i,2*i+1,2*i+1))
elif mode=="eq":
    for i in range(n): cap(i,'{"tid":%d,"sid":%d,"sts":5,"cts":5,"ops":[{"t":"r","k":1,"v":%d},{"t":"w","k":1,"v":%d}]}'%(i+1,i+1,i,i+1))
elif mode=="eqw":
    for i in range(n): cap(i,'{"tid":%d,"sid":%d,"sts":5,"cts":6,"ops":[{"t":"w","k":1,"v":%d}]}'%(i+1,i+1,i+1))
elif mode=="overlap":   # all overlap, one key
    for i in range(n): cap(i,'{"tid":%d,"sid":%d,"sts":%d,"cts":%d,"ops":[{"t":"w","k":1,"v":%d}]}'%(i+1,i+1,1+i,n*2+i,i+1))
elif mode=="desc":      # arrival in descending time, one key written and read
    for i in range(n): cap(i,'{"tid":%d,"sid":%d,"sts":%d,"cts":%d,"ops":[{"t":"r","k":1,"v":%d},{"t":"w","k":1,"v":%d}]}'%(i+1,i+1,2*(n-i),2*(n-i)+1,n-i-1,n-i))
elif mode=="readers":   # many readers of one key, then writers at the bottom flip them all each time
    h=n//2
    for i in range(h): cap(i,'{"tid":%d,"sid":%d,"sts":%d,"cts":%d,"ops":[{"t":"r","k":1,"v":0}]}'%(i+1,i+1,10**9+i,10**9+i))
    for i in range(h): cap(h+i,'{"tid":%d,"sid":%d,"sts":%d,"cts":%d,"ops":[{"t":"w","k":1,"v":%d}]}'%(h+i+1,h+i+1,2*i+1,2*i+2,i+1))
elif mode=="list":
    for i in range(n): cap(i,'{"tid":%d,"sid":%d,"sts":%d,"cts":%d,"ops":[{"t":"append","k":1,"v":%d},{"t":"r","k":1,"v":[%s]}]}'%(i+1,i+1,2*i+1,2*i+2,i,','.join(map(str,range(i+1)))))
elif mode=="unknown":
    for i in range(n): cap(i,'{"tid":%d,"sid":%d,"sts":%d,"status":"unknown","ops":[{"t":"w","k":1,"v":%d}]}'%(i+1,i+1,2*i+1,i))
elif mode=="unknownread":
    h=n//2
    for i in range(h): cap(i,'{"tid":%d,"sid":%d,"sts":%d,"status":"unknown","ops":[{"t":"w","k":1,"v":7}]}'%(i+1,i+1,2*i+1))
    for i in range(h): cap(h+i,'{"tid":%d,"sid":%d,"sts":%d,"cts":%d,"ops":[{"t":"r","k":1,"v":7}]}'%(h+i+1,h+i+1,10**7+i,10**7+i))
elif mode=="keys":      # a key written by each, and a session of its own
    for i in range(n): cap(i,'{"tid":%d,"sid":"s%d","sts":%d,"cts":%d,"ops":[{"t":"w","k":"k%d","v":1}]}'%(i+1,i,2*i+1,2*i+2,i))
elif mode=="samesno":   # one place in the session for all
    for i in range(n): cap(i,'{"tid":%d,"sid":1,"sno":1,"sts":%d,"cts":%d,"ops":[{"t":"r","k":1,"v":null}]}'%(i+1,2*(n-i),2*(n-i)))
elif mode=="giant":     # one that was open all the time, and many short ones that come backwards
    cap(0,'{"tid":0,"sid":0,"sts":1,"cts":%d,"ops":[{"t":"w","k":1,"v":0}]}'%(10*n))
    for i in range(1,n): cap(i,'{"tid":%d,"sid":%d,"sts":%d,"cts":%d,"ops":[{"t":"w","k":1,"v":%d}]}'%(i,i,4*(n-i),4*(n-i)+1,i))
elif mode=="inverted":  # timestamps the wrong way round, within others
    for i in range(n):
        a,b=(3*n+i,n-i) if i&1 else (n-i,3*n+i)
        cap(i,'{"tid":%d,"sid":%d,"sts":%d,"cts":%d,"ops":[{"t":"w","k":1,"v":%d}]}'%(i+1,i+1,a,b,i))
elif mode=="outcomes":  # reads of what transactions of unknown outcome may have written, told afterwards
    h=n//2
    for i in range(h): cap(i,'{"tid":%d,"sid":%d,"sts":%d,"cts":%d,"ops":[{"t":"r","k":1,"v":7}]}'%(i+1,i+1,10**7+i,10**7+i))
    for i in range(h): cap(h+i,'{"tid":%d,"sid":%d,"sts":%d,"status":"unknown","ops":[{"t":"w","k":1,"v":7}]}'%(h+i+1,h+i+1,2*i+1))
elif mode=="stalelist": # long lists that are read as if they were empty
    h=n//2
    for i in range(h): cap(i,'{"tid":%d,"sid":%d,"sts":%d,"cts":%d,"ops":[{"t":"append","k":1,"v":%d}]}'%(i+1,i+1,2*i+1,2*i+2,i))
    for i in range(h): cap(h+i,'{"tid":%d,"sid":%d,"sts":%d,"cts":%d,"ops":[{"t":"r","k":1,"v":[]}]}'%(h+i+1,h+i+1,4*n+i,4*n+i))
elif mode=="joined_overlap":
    for i in range(n): cap(i,'{"tid":%d,"sid":%d,"sts":%d,"cts":%d,"ops":[{"t":"w","k":"v/0x1","v":%d}]}'%(i+1,i+1,1+i,n*2+i,i+1))
    cap(n,'{"tid":0,"sid":0,"sts":%d,"ops":[{"t":"r","k":"v/0x1","v":%d}]}'%(4*n,n))
    for i in range(n): row(n*2+i,i+1)
elif mode in("joined_stale","joined_absent"): # each reads another version than the last, or none
    h=n//2
    for i in range(h): row(i+1,i)
    for i in range(h): cap(i,'{"tid":%d,"sid":%d,"sts":%d,"ops":[{"t":"r","k":"v/0x1","v":%s}]}'%(i+1,i+1,4*n+i,i//2 if mode=="joined_stale" else "null"))
    row(8*n,h) # above all of them: the stream is whole where they read
else:
    sys.exit("complexity.py: no mode "+mode)
