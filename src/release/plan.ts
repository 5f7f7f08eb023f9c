import type { Canary } from '../api/canary/canary.ts';
import type { NamespacedName } from '../api/kubernetes.ts';
import type { FileProblem, Origin, RenderedObject } from '../render/rendered-object.ts';
import type { Release } from './release.ts';

/** The plan of one commit for one Canary. */
export type CanaryPlan =
  /** All of its objects were read. */
  | {
      state: 'release';
      canary: NamespacedName;
      /** As in Git; undefined: the Canary itself is in no file of this Source. */
      object: Canary | undefined;
      /** The Canary's place in Git. */
      origin: Origin | undefined;
      target: RenderedObject;
      /** ConfigMaps and Secrets of the Source that the template names and that are tracked. */
      configs: RenderedObject[];
      /** The object of `autoscalerRef`, if the Source has it. */
      scaler: RenderedObject | undefined;
      /** `path:line` of all of them. */
      origins: string[];
      /** False: the release has only the template and ports. */
      tracksConfig: boolean;
    }
  /** One of its files is broken, or it left them and may be in those of another Source, `waitsFor`: the previous plan stays (S24). */
  | {
      state: 'frozen';
      canary: NamespacedName;
      message: string;
      problems: readonly FileProblem[];
      waitsFor?: string;
    }
  /** The Source was read completely and does not have the target. */
  | {
      state: 'missing';
      canary: NamespacedName;
      object: Canary | undefined;
      message: string;
      problems: FileProblem[];
    };

/** The last release of a Canary. */
export type PreviousPlan = Pick<Release, 'origins' | 'liveConfigs' | 'target' | 'configs'>;
