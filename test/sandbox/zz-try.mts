import { play } from '/work/main/src/cli/demo/play.ts';
const c = new AbortController();
setTimeout(()=>c.abort(new Error('late')), 110000).unref();
const e = await play({version:'0.1.0',kubeconfig:undefined,namespace:'holdfast-demo',provider:undefined,gateway:undefined,image:'busybox:1.37',trafficUrl:undefined,trafficHost:undefined,keep:false}, {signal:c.signal, tell:(e)=>{const {time,...r}=e as any; console.log(JSON.stringify(r))}});
process.exit(e.ok?0:1);
