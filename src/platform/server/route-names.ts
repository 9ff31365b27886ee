import { Injectable, RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, HttpAdapterHost, MetadataScanner, Reflector } from '@nestjs/core';
import type { Express } from 'express';
import { OPERATION_ID } from '../api/operation.js';
import { DEPRECATED } from '../api/sunset.js';
import { withoutVersion } from '../api/versions.js';
import type { HttpAdapter } from './http-adapter.js';
import { routesOf } from './router.js';

/** What is told of the requests to one route. */
export interface RouteName {
  /** As in the OpenAPI document, or `none`. */
  operationId: string;
  /** As Express has it, e.g. `/v1/pets/:petId`; left out where no route took the request. */
  template?: string;
  isDeprecated: boolean;
}

/** Names the routes of the router, which knows their paths, by Nest's metadata, which has the operation behind each. */
@Injectable()
export class RouteNames {
  constructor(
    private readonly host: HttpAdapterHost<HttpAdapter>,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  /** The names of all routes by what Express sets as the `route` of a request. To be called once all are set up. */
  all(): Map<object, RouteName> {
    const named = this.operations();
    const routes = routesOf(this.host.httpAdapter.getInstance<Express>());
    return new Map(
      routes.map(({ path, methods, handle }) => {
        const name = named.get(`${methods[0]} ${withoutVersion(path)}`);
        return [handle, { operationId: 'none', isDeprecated: false, ...name, template: path }];
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
        found.set(`${method} /${path}`, { operationId, isDeprecated });
      }
    }
    return found;
  }
}
