import { Injectable, RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, HttpAdapterHost, MetadataScanner, Reflector } from '@nestjs/core';
import { OPERATION_ID } from '../common/operation.js';
import { DEPRECATED } from '../common/sunset.js';
import type { HttpAdapter } from '../http/http-adapter.js';

/** What is told of the requests to one route. */
export interface RouteName {
  /** As in the OpenAPI document, or `none`. */
  operationId: string;
  /** As Express has it, e.g. `/v1/pets/:petId`; left out where no route took the request. */
  template?: string;
  isDeprecated: boolean;
}

interface Route {
  path: string;
  methods: Record<string, boolean>;
}

const VERSION = /^\/v\d+(?=\/)/;

/** Names the routes of the router: it knows their paths, and Nest's metadata which operation is behind each. */
@Injectable()
export class Routes {
  constructor(
    private readonly host: HttpAdapterHost<HttpAdapter>,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  /** Every route that there is, once all are set up. */
  all(): Map<object, RouteName> {
    const named = this.operations();
    const { stack } = this.host.httpAdapter.getInstance<{ router: { stack: { route?: Route }[] } }>().router;
    const routes = stack.flatMap(({ route }) => (route ? [route] : []));
    return new Map(
      routes.map((route) => {
        const [method = ''] = Object.keys(route.methods);
        const name = named.get(`${method} ${route.path.replace(VERSION, '')}`);
        return [route, { operationId: 'none', isDeprecated: false, ...name, template: route.path }];
      }),
    );
  }

  /** The operations by method and path, without the version. */
  private operations(): Map<string, RouteName> {
    const found = new Map<string, RouteName>();
    for (const { instance, metatype } of this.discovery.getControllers()) {
      if (!instance || !metatype) continue;
      for (const name of this.scanner.getAllMethodNames(Object.getPrototypeOf(instance))) {
        const handler = instance[name];
        const operationId = this.reflector.get<string | undefined>(OPERATION_ID, handler);
        if (!operationId) continue;
        const paths = [metatype, handler].map((at) => this.reflector.get<string>(PATH_METADATA, at));
        const path = paths.join('/').split('/').filter(Boolean).join('/');
        const method = RequestMethod[this.reflector.get<RequestMethod>(METHOD_METADATA, handler)];
        const isDeprecated = this.reflector.get<boolean | undefined>(DEPRECATED, handler) ?? false;
        found.set(`${method.toLowerCase()} /${path}`, { operationId, isDeprecated });
      }
    }
    return found;
  }
}
