/** What the bench of many applications is made of: Flux's own shape, a Deployment scaled to zero, a ServiceAccount, a Service and an Ingress. */

/** Objects of one application. */
export const OBJECTS_PER_APPLICATION = 4;

/** Path of an application's folder. */
export function folderOfApplication(index: number): string {
  return `apps/app-${String(index).padStart(4, '0')}`;
}

/** The manifest of one application; `version` is in the pod's environment, so that another one is another template. */
export function manifestOf(index: number, version: string): string {
  const name = folderOfApplication(index).slice('apps/'.length);
  return `apiVersion: v1
kind: ServiceAccount
metadata:
  name: ${name}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
  labels: {app.kubernetes.io/name: ${name}}
spec:
  replicas: 0
  selector:
    matchLabels: {app: ${name}}
  template:
    metadata:
      labels: {app: ${name}}
    spec:
      serviceAccountName: ${name}
      containers:
        - name: app
          image: registry.example.com/app:v1
          env: [{name: VERSION, value: "${version}"}]
          ports: [{name: http, containerPort: 9898}]
          readinessProbe: {httpGet: {path: /readyz, port: http}}
          resources:
            requests: {cpu: 10m, memory: 32Mi}
            limits: {memory: 128Mi}
---
apiVersion: v1
kind: Service
metadata:
  name: ${name}
spec:
  selector: {app: ${name}}
  ports: [{name: http, port: 9898, targetPort: http}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: ${name}
spec:
  ingressClassName: none
  rules:
    - host: ${name}.example.com
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: {service: {name: ${name}, port: {name: http}}}
`;
}
